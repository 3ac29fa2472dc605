use std::fmt::Write;
use std::net::IpAddr;

use super::{BindAcknowledgement, BindPolicy, BindReason, BindRequest, TlsMode, judge_bind};
use crate::deployment_profiles::DeploymentProfile;

fn check_reach(address: &str, expected: BindReason) {
    let request = BindRequest {
        address: address.parse::<IpAddr>().unwrap(),
        tls: TlsMode::On,
        acknowledgements: BindAcknowledgement::ALL,
    };
    let verdict = judge_bind(BindPolicy::LoopbackOrGuardedPublic, &request);
    assert_eq!(verdict, expected, "{address}");
}

#[test]
fn loopback_is_what_only_this_machine_reaches() {
    for address in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
        check_reach(address, BindReason::Loopback);
    }
}

#[test]
fn everything_else_is_public() {
    for address in [
        "0.0.0.0",
        "::",
        "::ffff:0.0.0.0",
        "10.0.0.1",
        "192.168.1.10",
        "::ffff:192.168.1.10",
        "100.64.0.1",
        "169.254.1.1",
        "fe80::1",
        "fd00::1",
        "128.0.0.1",
        "203.0.113.7",
        "2001:db8::1",
        "255.255.255.255",
    ] {
        check_reach(address, BindReason::GuardedPublic);
    }
}

#[test]
fn an_acknowledgement_given_twice_is_given_once() {
    let twice = [BindAcknowledgement::InConfiguration; 2];
    let request = BindRequest {
        address: IpAddr::from([203, 0, 113, 7]),
        tls: TlsMode::On,
        acknowledgements: &twice,
    };
    let verdict = judge_bind(BindPolicy::LoopbackOrGuardedPublic, &request);
    assert_eq!(verdict, BindReason::StartAcknowledgementMissing);
}

#[test]
fn the_whole_matrix_is_as_reviewed() {
    let acknowledged: [(&str, &[BindAcknowledgement]); 4] = [
        ("-", &[]),
        ("configuration", &[BindAcknowledgement::InConfiguration]),
        ("start", &[BindAcknowledgement::AtStart]),
        ("both", &[BindAcknowledgement::AtStart, BindAcknowledgement::InConfiguration]),
    ];
    let mut matrix = String::new();
    for policy in BindPolicy::ALL {
        for address in [IpAddr::from([127, 0, 0, 1]), IpAddr::from([203, 0, 113, 7])] {
            for tls in [TlsMode::Off, TlsMode::On] {
                for (name, acknowledgements) in acknowledged {
                    let request = BindRequest { address, tls, acknowledgements };
                    let reason = judge_bind(*policy, &request);
                    let verdict = if reason.is_allowed() { "allow" } else { "refuse" };
                    let tls = if tls == TlsMode::On { "tls" } else { "plain" };
                    let question = format!("{policy} {address} {tls} {name}");
                    writeln!(matrix, "{question:<60} {verdict:<6} {reason}").unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(matrix);
}

/// The daemon speaks no TLS, so a profile that allowed more would promise what there is not.
#[test]
fn no_profile_allows_a_public_address() {
    for profile in DeploymentProfile::ALL {
        for (tls, acknowledgements) in
            [(TlsMode::Off, &[][..]), (TlsMode::On, BindAcknowledgement::ALL)]
        {
            let address = IpAddr::from([203, 0, 113, 7]);
            let request = BindRequest { address, tls, acknowledgements };
            assert!(!judge_bind(profile.spec().bind, &request).is_allowed(), "{profile}");
        }
    }
}

mod properties;
mod urls;

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use palyra_common::error::ErrorCode;

use super::*;
use crate::config::NetConfig;
use crate::resolve::Resolving;

/// Names of the tests; no other exists.
const NAMES: &[(&str, &[&str])] = &[
    ("public.example", &["93.184.216.34"]),
    ("two.example", &["93.184.216.34", "2606:4700:4700::1111"]),
    ("xn--bcher-kva.example", &["93.184.216.34"]),
    ("localhost", &["127.0.0.1", "::1"]),
    ("app.localhost", &["127.0.0.1"]),
    ("inside.example", &["10.0.0.1"]),
    ("10.0.0.1.nip.example", &["10.0.0.1"]),
    ("mapped.example", &["::ffff:192.168.0.1"]),
    ("nat64.example", &["64:ff9b::a00:1"]),
    ("sixtofour.example", &["2002:7f00:1::1"]),
    ("zero.example", &["0.0.0.0"]),
    ("mixed.example", &["93.184.216.34", "10.0.0.1"]),
    ("mixed6.example", &["2606:4700:4700::1111", "::1"]),
    ("last.example", &["1.1.1.1", "1.0.0.1", "8.8.8.8", "169.254.169.254"]),
    ("metadata.google.internal", &["169.254.169.254"]),
    ("instance-data.ec2.internal", &["fd00:ec2::254"]),
    ("empty.example", &[]),
];

struct Names;

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        let found = NAMES.iter().find(|(name, _)| *name == host);
        Box::pin(async move {
            let (_, addresses) = found.ok_or_else(|| io::Error::other("no such name"))?;
            Ok(addresses.iter().map(|address| address.parse().unwrap()).collect())
        })
    }
}

/// Answers every question alike.
struct Always(Vec<IpAddr>);

impl Resolve for Always {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

fn door(allow: &[&str], resolver: impl Resolve + 'static) -> Door {
    let allow = allow.iter().map(ToString::to_string).collect();
    NetConfig { allow, ..NetConfig::default() }.door(Arc::new(resolver)).unwrap()
}

/// What is decided about a URL before anything is sent: the addresses to connect to. No client looks an
/// address up, so nobody judges it after it was admitted.
fn decide(door: &Door, url: &str, hosts: &Hosts) -> Result<Vec<IpAddr>, NetError> {
    let target = Target::parse(url)?;
    door.admit(&target, hosts)?;
    if let Host::Address(address) = target.host() {
        return Ok(vec![*address]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(door.addresses(target.host()))
}

#[test]
fn an_answer_without_end_is_none() {
    let many = vec!["1.1.1.1".parse().unwrap(); MAX_ADDRESSES];
    assert!(decide(&door(&[], Always(many.clone())), "http://a.example", &Hosts::Any).is_ok());
    let more = [many, vec!["1.1.1.1".parse().unwrap()]].concat();
    let error = decide(&door(&[], Always(more)), "http://a.example", &Hosts::Any).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NetNoAddress);
}

#[test]
fn a_grant_holds_for_public_hosts_too() {
    let door = door(&["inside.example"], Names);
    let only =
        Hosts::Only(vec!["public.example".parse().unwrap(), "*.nip.example".parse().unwrap()]);
    let code = |url: &str| decide(&door, url, &only).err().map(|error| error.code());
    assert_eq!(code("https://public.example/"), None);
    assert_eq!(code("https://PUBLIC.example./"), None);
    assert_eq!(code("https://two.example/"), Some(ErrorCode::NetHostNotGranted));
    assert_eq!(code("https://93.184.216.34/"), Some(ErrorCode::NetHostNotGranted));
    // What the operator has opened is not granted by that, and what is granted is not opened.
    assert_eq!(code("https://inside.example/"), Some(ErrorCode::NetHostNotGranted));
    assert_eq!(code("https://10.0.0.1.nip.example/"), Some(ErrorCode::NetAddressRefused));
    assert!(decide(&door, "https://inside.example/", &Hosts::Any).is_ok());
}

#[test]
fn ports_of_other_protocols_are_opened_one_by_one() {
    let config = NetConfig { allow_ports: vec![25], ..NetConfig::default() };
    let door = config.door(Arc::new(Names)).unwrap();
    let code = |url: &str| decide(&door, url, &Hosts::Any).err().map(|error| error.code());
    assert_eq!(code("http://public.example:25/"), None);
    assert_eq!(code("http://public.example:22/"), Some(ErrorCode::NetPortRefused));
    let unique: BTreeSet<u16> = PORTS_OF_OTHERS.iter().copied().collect();
    assert_eq!(unique.len(), PORTS_OF_OTHERS.len());
    assert!(PORTS_OF_OTHERS.is_sorted());
}

#[test]
fn the_client_asks_for_hosts_in_the_forms_of_urls() {
    for (text, host) in [
        ("public.example", Host::Name("public.example".into())),
        ("127.0.0.1", Host::Address("127.0.0.1".parse().unwrap())),
        ("[::1]", Host::Address("::1".parse().unwrap())),
        ("[::ffff:7f00:1]", Host::Address("127.0.0.1".parse().unwrap())),
    ] {
        assert_eq!(client_host(text), host, "{text}");
    }
}

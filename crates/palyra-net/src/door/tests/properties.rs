//! No way of writing a URL, and no answer of a resolver, leads to an address that is not public.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

/// What is certainly not public, told in other words than those of the guard.
fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.is_documentation()
                || v4.is_unspecified()
                || a == 0
                || a >= 240
                || (a == 100 && b & 0xc0 == 64)
                || (a == 198 && b & 0xfe == 18)
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || inside_of(v6).is_some_and(|v4| is_inside(v4.into()))
        }
    }
}

/// The IPv4 address that an IPv6 address holds by one of the usual rules.
fn inside_of(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let number = u128::from(address);
    let low = u32::try_from(number & 0xffff_ffff).unwrap();
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, ..] => Some(Ipv4Addr::from(low)),
        [0x2002, a, b, ..] => Some(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b))),
        [0x2001, 0, ..] => Some(Ipv4Addr::from(!low)),
        _ => None,
    }
}

fn inner_v4() -> impl Strategy<Value = Ipv4Addr> {
    let starts = prop::sample::select(vec![
        0x0000_0000_u32,
        0x0a00_0000,
        0x6440_0000,
        0x7f00_0000,
        0xa9fe_0000,
        0xac10_0000,
        0xc0a8_0000,
        0xc612_0000,
        0xe000_0000,
        0xf000_0000,
    ]);
    (starts, 0_u32..1 << 16).prop_map(|(start, rest)| Ipv4Addr::from(start | rest))
}

/// The address itself, and inside of IPv6 ones.
fn inner() -> impl Strategy<Value = IpAddr> {
    (inner_v4(), 0_u8..8).prop_map(|(v4, form)| {
        let low = u128::from(u32::from(v4));
        let v6 = |number: u128| IpAddr::from(Ipv6Addr::from(number));
        match form {
            0 | 1 => v4.into(),
            2 => v4.to_ipv6_mapped().into(),
            3 => v6(low),
            4 => v6((0x64_ff9b << 96) | low),
            5 => v6((0x64_ff9b_0001 << 80) | low),
            6 => v6((0x2002 << 112) | (low << 80) | 1),
            _ => v6((0x2001_0000 << 96) | (!low & 0xffff_ffff)),
        }
    })
}

fn any_address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|number| IpAddr::from(Ipv4Addr::from(number))),
        any::<u128>().prop_map(|number| IpAddr::from(Ipv6Addr::from(number))),
        any::<u128>().prop_map(|n| IpAddr::from(Ipv6Addr::from((n >> 3) | (0x2000 << 112)))),
        inner(),
    ]
}

/// An IPv4 address as parsers of URLs understand it.
fn written(v4: Ipv4Addr, form: u8) -> String {
    let [a, b, c, d] = v4.octets();
    let number = u32::from(v4);
    match form {
        0 => v4.to_string(),
        1 => number.to_string(),
        2 => format!("{number:#x}"),
        3 => format!("0{number:o}"),
        4 => format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        5 => format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        6 => format!("{a}.{}", number & 0xff_ffff),
        7 => format!("{a}.{b:#X}.{}", number & 0xffff),
        8 => format!("{v4}."),
        9 => v4.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect(),
        10 => v4.to_string().replace('.', "。"),
        11 => {
            let wide = |letter: char| char::from_u32(u32::from(letter) + 0xfee0).unwrap();
            v4.to_string().chars().map(|c| if c.is_ascii_digit() { wide(c) } else { c }).collect()
        }
        12 => format!("[{}]", v4.to_ipv6_mapped()),
        _ => format!("[::ffff:{:x}:{:x}]", number >> 16, number & 0xffff),
    }
}

proptest! {
    /// A name is refused if any of its addresses is inside, wherever it stands in the answer.
    #[test]
    fn no_answer_leads_inside(
        mut answer in prop::collection::vec(any_address(), 0..4),
        bad in inner(),
        at in 0_usize..4,
    ) {
        answer.insert(at.min(answer.len()), bad);
        prop_assert!(is_inside(bad));
        let decided = decide(&door(&[], Always(answer)), "https://any.example/", &Hosts::Any);
        prop_assert_eq!(decided.map_err(|error| error.code()), Err(ErrorCode::NetAddressRefused));
    }

    /// Whatever is let through is what the resolver said, and none of it is inside.
    #[test]
    fn what_is_let_through_is_outside(answer in prop::collection::vec(any_address(), 1..4)) {
        let door = door(&[], Always(answer.clone()));
        if let Ok(addresses) = decide(&door, "https://any.example/", &Hosts::Any) {
            prop_assert!(!addresses.iter().copied().any(is_inside));
            prop_assert_eq!(addresses, answer);
        }
    }

    #[test]
    fn no_writing_of_an_address_leads_inside(v4 in inner_v4(), form in 0_u8..14) {
        let url = format!("http://{}/", written(v4, form));
        let decided = decide(&door(&[], Names), &url, &Hosts::Any);
        prop_assert_eq!(
            decided.map_err(|error| error.code()),
            Err(ErrorCode::NetAddressRefused),
            "{}", url
        );
    }

    /// Whatever the text: where every name is this machine, only public addresses are reached.
    #[test]
    fn no_text_leads_inside(text in "(https?:)?[/\\\\]{0,3}[\\PC\\t\\n@:\\[\\]%.0-9a-fx]{0,24}(/.{0,8})?") {
        let resolver = Always(vec![Ipv4Addr::LOCALHOST.into()]);
        if let Ok(addresses) = decide(&door(&[], resolver), &text, &Hosts::Any) {
            prop_assert!(!addresses.iter().copied().any(is_inside), "{text}: {addresses:?}");
        }
    }
}

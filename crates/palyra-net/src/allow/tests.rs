use super::*;

fn judged(entries: &[&str], host: &str, address: &str) -> Result<(), AddressKind> {
    let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
    let allow = Allow::parse(&entries).unwrap();
    let host = Host::of(&url::Host::parse(host).unwrap()).unwrap();
    allow.judge(&host, address.parse().unwrap())
}

#[test]
fn nothing_is_open_but_what_is_public() {
    assert_eq!(judged(&[], "example.org", "1.1.1.1"), Ok(()));
    assert_eq!(judged(&[], "example.org", "10.0.0.1"), Err(AddressKind::Private));
}

#[test]
fn a_network_opens_its_addresses_under_every_name() {
    let open = &["10.1.2.3/24", "127.0.0.1", "::1", "fd00::/8"];
    for address in ["10.1.2.0", "10.1.2.255", "127.0.0.1", "::ffff:127.0.0.1", "::1", "fd12::1"] {
        assert_eq!(judged(open, "any.example", address), Ok(()), "{address}");
    }
    for address in ["10.1.3.0", "127.0.0.2", "::2", "169.254.169.254"] {
        assert!(judged(open, "any.example", address).is_err(), "{address}");
    }
}

#[test]
fn a_name_opens_what_is_behind_it_in_a_private_network() {
    let open = &["nas.home.arpa", "*.corp.example"];
    for (host, address) in [
        ("nas.home.arpa", "192.168.1.5"),
        ("nas.home.arpa.", "127.0.0.1"),
        ("a.corp.example", "10.0.0.1"),
        ("a.corp.example", "fd12::1"),
        ("nas.home.arpa", "100.64.0.1"),
        ("nas.home.arpa", "fe80::1"),
    ] {
        assert_eq!(judged(open, host, address), Ok(()), "{host} at {address}");
    }
    assert!(judged(open, "corp.example", "10.0.0.1").is_err());
    assert!(judged(open, "other.example", "10.0.0.1").is_err());
}

#[test]
fn no_name_opens_metadata_or_what_is_no_machine() {
    let open = &["nas.home.arpa"];
    for address in ["169.254.169.254", "fd00:ec2::254", "0.0.0.0", "::", "224.0.0.1", "2002::1"] {
        assert!(judged(open, "nas.home.arpa", address).is_err(), "{address}");
    }
    assert_eq!(judged(&["169.254.169.254"], "nas.home.arpa", "169.254.169.254"), Ok(()));
}

#[test]
fn the_entry_that_cannot_be_read_is_told() {
    for entry in ["10.0.0.0/33", "http://a.example", "a.example:80", "", "*"] {
        let entries = ["ok.example".to_owned(), entry.to_owned()];
        assert_eq!(Allow::parse(&entries).unwrap_err(), entry);
    }
}

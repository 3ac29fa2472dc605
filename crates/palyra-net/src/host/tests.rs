use super::*;

fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

#[test]
fn a_pattern_names_one_host_or_those_below_it() {
    for (pattern, matching, others) in [
        (
            "example.org",
            &["example.org", "EXAMPLE.org", "example.org."][..],
            &["a.example.org", "example.org.evil.net", "notexample.org", "example.or"][..],
        ),
        (
            "*.example.org",
            &["a.example.org", "a.b.example.org"],
            &["example.org", "notexample.org", "aexample.org", "a.example.org.evil.net"],
        ),
        ("bücher.example", &["xn--bcher-kva.example"], &["bucher.example"]),
        ("127.0.0.1", &["127.0.0.1", "0x7f.1", "2130706433", "::ffff:127.0.0.1"], &["127.0.0.2"]),
        ("::1", &["::1", "[0:0::1]"], &["127.0.0.1"]),
        ("[2001:db8::1]", &["2001:DB8:0::1"], &["2001:db8::2"]),
    ] {
        let pattern: HostPattern = pattern.parse().unwrap();
        for text in matching {
            assert!(pattern.matches(&host(text)), "{pattern} and {text}");
        }
        for text in others {
            assert!(!pattern.matches(&host(text)), "{pattern} and {text}");
        }
    }
}

#[test]
fn what_is_no_host_is_no_pattern() {
    let long = "a".repeat(64);
    for text in [
        "",
        "*",
        "*.",
        "**.example.org",
        "*.*.example.org",
        "a.*.example.org",
        "exa*mple.org",
        "*.127.0.0.1",
        "https://example.org",
        "example.org:443",
        "example.org/path",
        "user@example.org",
        "example..org",
        ".example.org",
        "example.org..",
        "example org",
        "[::1",
        "fe80::1%eth0",
        long.as_str(),
    ] {
        assert_eq!(text.parse::<HostPattern>(), Err(HostPatternError), "{text}");
    }
}

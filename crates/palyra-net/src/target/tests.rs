use super::*;

fn flaw(text: &str) -> Option<Flaw> {
    match Target::parse(text) {
        Ok(_) => None,
        Err(NetError::Url { flaw }) => Some(flaw),
        Err(other) => panic!("{text}: {other}"),
    }
}

#[test]
fn only_plain_urls_of_the_web_are_read() {
    let long = format!("https://example.org/{}", "a".repeat(MAX_URL));
    for (text, expected) in [
        ("https://example.org/a?b#c", None),
        ("HTTP://EXAMPLE.ORG", None),
        ("https:example.org", None),
        ("https://@example.org/", None),
        ("file:///etc/passwd", Some(Flaw::Scheme)),
        ("ftp://example.org/", Some(Flaw::Scheme)),
        ("gopher://example.org/", Some(Flaw::Scheme)),
        ("javascript:alert(1)", Some(Flaw::Scheme)),
        ("data:text/plain,hello", Some(Flaw::Scheme)),
        ("unix:/run/docker.sock", Some(Flaw::Scheme)),
        ("blob:https://example.org/1", Some(Flaw::Scheme)),
        ("wss://example.org/", Some(Flaw::Scheme)),
        ("https://user@example.org/", Some(Flaw::Credentials)),
        ("https://user:pass@example.org/", Some(Flaw::Credentials)),
        ("https://:pass@example.org/", Some(Flaw::Credentials)),
        ("https://example.org@evil.example/", Some(Flaw::Credentials)),
        ("https://a..example/", Some(Flaw::Host)),
        ("https://*.example/", Some(Flaw::Host)),
        ("https://a$b.example/", Some(Flaw::Host)),
        ("https://example.org../", Some(Flaw::Host)),
        ("//example.org/", Some(Flaw::Unreadable)),
        ("/path", Some(Flaw::Unreadable)),
        ("", Some(Flaw::Unreadable)),
        ("https://", Some(Flaw::Unreadable)),
        ("https://example.org:99999/", Some(Flaw::Unreadable)),
        ("https://example.org\\@evil.example/", Some(Flaw::Unreadable)),
        ("https://exam\nple.org/", Some(Flaw::Unreadable)),
        ("https://example.org/\r\nHost: evil.example", Some(Flaw::Unreadable)),
        ("https://exa mple.org/", Some(Flaw::Unreadable)),
        ("https://%00/", Some(Flaw::Unreadable)),
        ("https://a%2fb.example/", Some(Flaw::Unreadable)),
        ("http://[fe80::1%25eth0]/", Some(Flaw::Unreadable)),
        ("http://[::1", Some(Flaw::Unreadable)),
        ("http://256.256.256.256/", Some(Flaw::Unreadable)),
        ("http://0x100000000/", Some(Flaw::Unreadable)),
        (&long, Some(Flaw::TooLong)),
    ] {
        assert_eq!(flaw(text), expected, "{text}");
    }
}

#[test]
fn a_target_is_one_writing_of_its_url() {
    for (text, url, at) in [
        ("https://EXAMPLE.org./a#secret", "https://example.org/a", "example.org:443"),
        (
            "http://bücher.example:80/?q=1",
            "http://xn--bcher-kva.example/?q=1",
            "xn--bcher-kva.example:80",
        ),
        ("http://[::ffff:7f00:1]:8080/", "http://[::ffff:7f00:1]:8080/", "127.0.0.1:8080"),
        ("http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1:80"),
        ("http://[2001:DB8::1]/", "http://[2001:db8::1]/", "[2001:db8::1]:80"),
    ] {
        let target = Target::parse(text).unwrap();
        assert_eq!((target.url().as_str(), target.at().as_str()), (url, at), "{text}");
    }
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    let here = Target::parse("https://example.org/a").unwrap();
    for (text, same) in [
        ("/b?c", true),
        ("https://example.org:443/b", true),
        ("//example.org./b", true),
        ("http://example.org/a", false),
        ("https://example.org:8443/a", false),
        ("https://www.example.org/a", false),
        ("https://example.org.evil.example/a", false),
    ] {
        assert_eq!(here.is_same_origin(&here.follow(text).unwrap()), same, "{text}");
    }
}

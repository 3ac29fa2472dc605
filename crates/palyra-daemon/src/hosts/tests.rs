use super::*;

#[test]
fn a_public_url_is_a_scheme_and_a_host() {
    let tls = PublicUrl::parse("https://palyra.example.org").unwrap();
    assert_eq!(tls.origin(), "https://palyra.example.org");
    assert_eq!(PublicUrl::parse("https://palyra.example.org/"), Some(tls));
    assert!(tls.is_tls_for("Palyra.example.org") && !tls.is_tls_for("localhost:7142"));
    let plain = PublicUrl::parse("http://box.lan:8080").unwrap();
    assert_eq!(plain.origin(), "http://box.lan:8080");
    assert!(!plain.is_tls_for("box.lan:8080"));
    for wrong in ["", "palyra.example.org", "ftp://x", "https://", "https://a/b", "https://u@a"] {
        assert_eq!(PublicUrl::parse(wrong), None, "{wrong}");
    }
}

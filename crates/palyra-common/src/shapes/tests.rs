use super::*;

#[track_caller]
fn check(before: &str, after: &str) {
    assert_eq!(redact_suspects(before), after);
    assert_eq!(redact_suspects(after), after, "what is redacted stays as it is");
}

#[test]
fn what_is_called_like_a_secret_goes_and_the_sentence_stays() {
    check("used ply_abcdefghijkl0123 from here", "used [redacted] from here");
    check("postgres://anna:ge:h@eim@db/x", "postgres://anna:[redacted]@db/x");
    check(
        "open http://127.0.0.1:7142/login?code=abc123&x=1",
        "open http://127.0.0.1:7142/login?code=[redacted]&x=1",
    );
    check("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]");
    check("key sk-proj-abcdefghijklmnop1234 failed", "key [redacted] failed");
    check("storage.password = \"geheim\", ok", "storage.password = \"[redacted]\", ok");
    check("api_key: abc def", "api_key: [redacted] def");
    check("x -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY----- y", "x [redacted] y");
    check("x -----BEGIN PRIVATE KEY-----\nabc", "x [redacted]");
    check("MTAxMDEwMTAxMDEwMTAxMDEw.Gabcde.abcdefghijklmnopqrstuvwxyz01234", "[redacted]");
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "palyrad is ready: sqlite, schema 2, data in /srv/palyra",
        "http://127.0.0.1:7142",
        "token 01ARZ3NDEKTSV4RRFFQ69G5FAV was revoked",
        "postgres://anna@db/x",
        "2026-11-15T23:59:00.123Z INFO palyra_daemon::serve: stopping reason=\"SIGTERM\"",
    ] {
        check(text, text);
    }
}

/// A log tells which token was revoked, and prints the link of the first login.
#[test]
fn names_alone_do_not_make_a_credential() {
    for text in [
        "revoked token=01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "log in: http://127.0.0.1:7142/login?code=abc123",
    ] {
        assert_eq!(redact(text), text);
    }
    let github = format!("ghp_{}", "a1B2".repeat(9));
    assert_eq!(redact(&format!("({github})")), "([redacted])");
}

#[test]
fn a_module_or_a_file_is_no_password() {
    let module = "palyra_vault::secret=debug";
    assert!(!could_hold_password("log.level", module));
    assert!(!could_hold_password("vault.key_file", "/keys/token:1"));
    assert!(could_hold_password("storage.url", "postgres://anna:geheim@db/x"));
    assert!(could_hold_password("vault.key_command", "get,--token=geheim"));
    assert!(could_hold_password("of.tomorrow", module));
}

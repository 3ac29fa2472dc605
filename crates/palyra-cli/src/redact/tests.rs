use serde_json::json;

use super::*;

fn check(before: &str, after: &str) {
    assert_eq!(text(before), after);
}

#[test]
fn every_shape_compiles() {
    assert_eq!(COMPILED.len(), SHAPES.len());
}

#[test]
fn the_secret_goes_and_the_sentence_stays() {
    check("used ply_abcdefghijkl0123 from here", "used [masked] from here");
    check("postgres://anna:ge:h@eim@db/x", "postgres://anna:[masked]@db/x");
    check(
        "open http://127.0.0.1:7142/login?code=abc123&x=1",
        "open http://127.0.0.1:7142/login?code=[masked]&x=1",
    );
    check("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [masked]");
    check("key sk-proj-abcdefghijklmnop1234 failed", "key [masked] failed");
    check("storage.password = \"geheim\", ok", "storage.password = \"[masked]\", ok");
    check("api_key: abc def", "api_key: [masked] def");
    check("x -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY----- y", "x [masked] y");
    check("MTAxMDEwMTAxMDEwMTAxMDEw.Gabcde.abcdefghijklmnopqrstuvwxyz01234", "[masked]");
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

#[test]
fn texts_inside_of_json_are_masked_too() {
    let mut document = json!({"a": ["ply_abcdefghijkl"], "b": {"c": "x://u:p@h"}, "d": 1});
    value(&mut document);
    assert_eq!(document, json!({"a": ["[masked]"], "b": {"c": "x://u:[masked]@h"}, "d": 1}));
}

use super::*;

#[test]
fn what_palyrad_says_keeps_its_code() {
    let said = "2026-11-15 INFO starting\npalyrad: /d/palyra.toml: line 1: wrong\n  code: \
                config/invalid\n  what to do: Correct it.\n";
    let envelope = told(said).unwrap();
    assert_eq!(envelope.code(), "config/invalid");
    assert_eq!(envelope.message(), "/d/palyra.toml: line 1: wrong");
    assert_eq!(envelope.recovery_hint(), "Correct it.");
}

#[test]
fn other_words_are_no_error_of_ours() {
    for said in
        ["", "killed\n", "palyrad: stopped because it was asked twice\n", "palyrad: a\n  code"]
    {
        assert_eq!(told(said), None, "{said:?}");
    }
}

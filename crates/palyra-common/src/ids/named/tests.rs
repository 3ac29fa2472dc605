use super::{ConnectorId, MAX_NAME_CHARS, NameParseError};

const KIND: &str = "connector";

fn check(text: &str, expected: Result<&str, NameParseError>) {
    let parsed = text.parse::<ConnectorId>();
    assert_eq!(parsed.as_ref().map(ConnectorId::as_str), expected.as_ref().copied(), "{text:?}");
}

#[test]
fn letters_digits_and_four_signs_are_names() {
    check("x", Ok("x"));
    check("discord:Main_guild-2.eu", Ok("discord:Main_guild-2.eu"));
    let longest = "a".repeat(MAX_NAME_CHARS);
    check(&longest, Ok(&longest));
}

#[test]
fn everything_else_is_refused_with_what_is_wrong() {
    let stray = |found, position| Err(NameParseError::Character { kind: KIND, found, position });
    check("", Err(NameParseError::Empty { kind: KIND }));
    check(&"a".repeat(MAX_NAME_CHARS + 1), Err(NameParseError::TooLong { kind: KIND }));
    check(" a", stray(' ', 1));
    check("a/b", stray('/', 2));
    check("né", stray('é', 2));
    check("a\0", stray('\0', 2));
}

#[test]
fn serialises_as_its_text_and_checks_on_the_way_in() {
    let id: ConnectorId = "echo:1".parse().unwrap();
    assert_eq!(serde_json::to_string(&id).unwrap(), "\"echo:1\"");
    assert_eq!(serde_json::from_str::<ConnectorId>("\"echo:1\"").unwrap(), id);
    assert!(serde_json::from_str::<ConnectorId>("\"echo 1\"").is_err());
    assert_eq!(format!("{id:?}"), "ConnectorId(echo:1)");
}

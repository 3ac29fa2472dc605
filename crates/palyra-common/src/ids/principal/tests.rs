use super::*;

fn check(text: &str, expected: Result<(), PrincipalParseError>) {
    assert_eq!(text.parse::<Principal>().map(drop), expected, "{text}");
    let read = serde_json::from_value::<Principal>(serde_json::json!(text));
    assert_eq!(read.is_ok(), expected.is_ok(), "{text}");
}

#[test]
fn a_principal_has_a_kind_and_a_name() {
    check("system", Ok(()));
    check("operator:anna", Ok(()));
    check("device:01JCZ8W9M0N4V5X6Y7Z8A9B0C1", Ok(()));
    check("channel:discord-main:1234567890", Ok(()));
    check(&format!("agent:{}", "a".repeat(128)), Ok(()));

    check("", Err(PrincipalParseError::Kind));
    check("anna", Err(PrincipalParseError::Kind));
    check("Operator:anna", Err(PrincipalParseError::Kind));
    check("system:x", Err(PrincipalParseError::Kind));
    check("operator:", Err(PrincipalParseError::Name));
    check("operator:an na", Err(PrincipalParseError::Name));
    check("operator:änna", Err(PrincipalParseError::Name));
    check(&format!("agent:{}", "a".repeat(129)), Err(PrincipalParseError::Name));
}

#[test]
fn a_principal_is_written_as_it_is_read() {
    for principal in [Principal::system(), Principal::owner()] {
        assert_eq!(principal.to_string().parse(), Ok(principal.clone()));
    }
}

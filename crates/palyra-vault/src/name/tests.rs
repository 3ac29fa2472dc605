use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: Result<(), SecretNameError>) {
    let parsed = text.parse::<SecretName>();
    assert_eq!(parsed.clone().map(drop), expected, "{text}");
    let read = serde_json::from_value::<SecretName>(serde_json::json!(text));
    assert_eq!(read.is_ok(), expected.is_ok(), "{text}");
    if let Ok(name) = parsed {
        assert_eq!(name.to_string(), text);
        assert_eq!(serde_json::to_value(&name).unwrap(), serde_json::json!(text));
    }
}

#[test]
fn a_secret_has_a_scope_and_a_name() {
    check("global/openai-key", Ok(()));
    check("agent:01JCZ8/token", Ok(()));
    check("connector:discord-main/bot.token", Ok(()));
    check("skill:weather/KEY_1", Ok(()));
    check("principal:operator:anna/smtp", Ok(()));
    check(&format!("agent:{}/{}", "a".repeat(128), "b".repeat(128)), Ok(()));

    check("", Err(SecretNameError::NoSlash));
    check("openai-key", Err(SecretNameError::NoSlash));
    check("/key", Err(SecretNameError::Scope));
    check("Global/key", Err(SecretNameError::Scope));
    check("global:x/key", Err(SecretNameError::Scope));
    check("user:anna/key", Err(SecretNameError::Scope));
    check("agent:/key", Err(SecretNameError::Scope));
    check("agent/key", Err(SecretNameError::Scope));
    check("agent:ä/key", Err(SecretNameError::Scope));
    check(&format!("agent:{}/key", "a".repeat(129)), Err(SecretNameError::Scope));
    check("global/", Err(SecretNameError::Name));
    check("global/.", Err(SecretNameError::Name));
    check("global/..", Err(SecretNameError::Name));
    check("global/...", Ok(()));
    check("global/.env", Ok(()));
    check("global/a/b", Err(SecretNameError::Name));
    check("global/a b", Err(SecretNameError::Name));
    check("global/a:b", Err(SecretNameError::Name));
    check(" global/key", Err(SecretNameError::Scope));
    check("global/key\n", Err(SecretNameError::Name));
    check(&format!("global/{}", "b".repeat(129)), Err(SecretNameError::Name));
}

proptest! {
    #[test]
    fn what_was_parsed_is_written_the_same(
        text in "(global|(agent|connector|skill|principal):[A-Za-z0-9.:_-]{1,128})/[A-Za-z0-9._-]{1,128}",
    ) {
        prop_assume!(!text.ends_with("/.") && !text.ends_with("/.."));
        let name: SecretName = text.parse().unwrap();
        prop_assert_eq!(name.to_string(), text.clone());
        let (scope, rest) = text.split_once('/').unwrap();
        prop_assert_eq!(name.scope().as_str(), scope);
        prop_assert_eq!(name.name(), rest);
    }

    #[test]
    fn any_text_is_refused_or_written_the_same(text in "[a-z:/ .]{0,24}|\\PC{0,40}") {
        if let Ok(name) = text.parse::<SecretName>() {
            prop_assert_eq!(name.to_string(), text);
        }
    }
}

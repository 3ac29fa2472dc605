use palyra_common::runtime_contracts::Scope;

use super::ScopeSet;

#[test]
fn a_set_has_what_was_put_in_and_nothing_else() {
    for one in Scope::ALL {
        let set = ScopeSet::from_iter([*one, *one]);
        let held: Vec<Scope> = Scope::ALL.iter().copied().filter(|s| set.contains(*s)).collect();
        assert_eq!(held, [*one]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [*one]);
    }
    assert!(ScopeSet::EMPTY.is_empty());
}

#[test]
fn rows_keep_a_set_and_unknown_words_add_nothing() {
    let set = ScopeSet::from_iter([Scope::TokensWrite, Scope::StatusRead]);
    assert_eq!(set.to_json(), r#"["status:read","tokens:write"]"#);
    assert_eq!(ScopeSet::from_json(&set.to_json()).unwrap(), set);
    let newer = r#"["status:read","moon:land","tokens:write"]"#;
    assert_eq!(ScopeSet::from_json(newer).unwrap(), set);
    for broken in ["", "{}", "null", "[1]", "status:read"] {
        assert!(ScopeSet::from_json(broken).is_err(), "{broken}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let few = ScopeSet::from_iter([Scope::StatusRead]);
    let more = ScopeSet::from_iter([Scope::StatusRead, Scope::ConfigWrite, Scope::SecretsRead]);
    assert_eq!(few.first_outside(more), None);
    assert_eq!(more.first_outside(few), Some(Scope::SecretsRead));
    assert_eq!(more.intersection(few), few);
}

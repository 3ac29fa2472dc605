use super::*;
use crate::failure::Failure;

fn said(rule: &Rule, fields: &[&str]) -> Result<Rule, String> {
    let fields = fields.iter().map(|text| field(text).unwrap()).collect();
    with_fields("rule", rule, fields).map_err(|failure| match failure {
        Failure::Told(envelope) => format!("{}: {}", envelope.code(), envelope.message()),
        other => panic!("{other:?}"),
    })
}

#[test]
fn fields_that_are_not_named_stay_as_they_are() {
    let was = said(&Rule::default(), &["agent=ops", "allow_from=[\"ann\"]"]).unwrap();
    let is = said(&was, &["max_text_bytes=10"]).unwrap();
    assert_eq!(is, Rule { max_text_bytes: 10, ..was });
    assert_eq!((&*is.agent, is.allow_from.len()), ("ops", 1));
}

#[test]
fn a_field_that_is_wrong_is_refused_with_its_reason() {
    let told = said(&Rule::default(), &["agents=ops"]).unwrap_err();
    let begins =
        "common/invalid_input: rule cannot be used: agents: unknown field `agents`, expected";
    assert!(told.starts_with(begins), "{told}");
    assert!(said(&Rule::default(), &["max_text_bytes=many"]).is_err());
}

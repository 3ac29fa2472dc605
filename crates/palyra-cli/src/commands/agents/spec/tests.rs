use super::*;

fn said(fields: &[&str]) -> Result<AgentSpec, String> {
    let fields = fields.iter().map(|text| field(text).unwrap()).collect();
    let arguments = SpecArguments { fields, instructions_file: None };
    arguments.of(&AgentSpec::default()).map_err(|failure| match failure {
        Failure::Told(envelope) => format!("{}: {}", envelope.code(), envelope.message()),
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_list_is_json_or_names_with_commas() {
    for models in ["models=big, small", r#"models=["big","small"]"#] {
        assert_eq!(said(&[models]).unwrap().models, ["big", "small"], "{models}");
    }
    assert!(said(&["models="]).unwrap().models.is_empty(), "those of the configuration");
    let spec = said(&["tools=fs.*"]).unwrap();
    assert!(spec.may_use("fs.read") && !spec.may_use("http.fetch"));
}

#[test]
fn a_name_with_dots_leads_into_a_field_and_leaves_its_neighbours() {
    let spec = said(&["limits.turns=3", "limits.active=1m", "budgets.day.micros=500000"]).unwrap();
    let was = AgentSpec::default();
    assert_eq!((spec.limits.turns, spec.limits.tool_calls), (3, was.limits.tool_calls));
    assert_eq!(spec.limits.active.to_string(), "1m");
    assert_eq!(spec.budgets.day, Cap { tokens: None, micros: Some(500_000) });
    assert_eq!(spec.instructions, was.instructions);
}

#[test]
fn what_no_agent_can_be_is_refused_before_it_is_sent() {
    for (field, told) in [
        ("limits.turns=0", "a run has from 1 to 1,000 turns"),
        ("limits.turn=1", "unknown field `turn`"),
        ("nonsense=1", "unknown field `nonsense`"),
        ("limits=1", "agent cannot be used"),
        ("models=a,b,c,d,e,f,g,h,i", "an agent thinks with at most 8 models"),
        ("name= ", "the name of an agent"),
        ("budgets.day.tokens=many", "budgets.day.tokens: invalid type"),
        ("limits.turn=1", "limits.turn: unknown field"),
        ("limits.active=soon", "limits.active: "),
        (
            "limits.tool_calls=-1",
            "agent cannot be used: limits.tool_calls: a whole number from 0 to 4294967295 is expected",
        ),
    ] {
        let error = said(&[field]).unwrap_err();
        assert!(error.starts_with("common/invalid_input: ") && error.contains(told), "{error}");
    }
}

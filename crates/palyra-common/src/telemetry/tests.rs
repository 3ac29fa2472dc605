use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{
    ConsoleEvent, ConsoleEventError, MAX_LATENCY_MS, MAX_SUMMARY_CHARS, MAX_WAITED_SECONDS,
    SystemEventRecord, UxEventKind, to_system_event_payload,
};
use crate::api::NewConsoleEvent;
use crate::error::ErrorCode;
use crate::ids::EventId;
use crate::runtime_contracts::registry;
use crate::time::Timestamp;

const ULID: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0D";

/// The least that an event of a kind has.
fn least(kind: UxEventKind) -> Value {
    let mut event = json!({
        "kind": kind, "surface": "web", "section": "chat", "outcome": "ok",
    });
    let more = match kind {
        UxEventKind::SurfaceOpened | UxEventKind::ChatPromptSubmitted => json!({}),
        UxEventKind::HandoffOpened => json!({ "source": "cli" }),
        UxEventKind::OnboardingStep => json!({ "step": "model" }),
        UxEventKind::ApprovalResolved => json!({ "verdict": "deny", "waited_seconds": 12 }),
        UxEventKind::RunInspected => json!({ "run_id": ULID }),
        UxEventKind::SessionResumed => json!({ "session_id": ULID }),
        UxEventKind::ErrorShown => json!({ "code": "http/busy" }),
        UxEventKind::Friction => json!({ "friction": "rage_click" }),
    };
    let more = more.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(more);
    event
}

fn with(kind: UxEventKind, field: &str, value: Value) -> Value {
    let mut event = least(kind);
    event[field] = value;
    event
}

/// What is kept of an event, or why it is not.
fn kept(event: &Value) -> Result<SystemEventRecord, String> {
    let new: NewConsoleEvent =
        serde_json::from_value(event.clone()).map_err(|error| error.to_string())?;
    let event = ConsoleEvent::try_from(&new).map_err(|error| error.to_string())?;
    let id = EventId::from_parts(Timestamp::UNIX_EPOCH, 7);
    Ok(to_system_event_payload(&event, id, Timestamp::from_unix_millis(1_700_000_000_000)))
}

#[test]
fn each_kind_is_kept_with_its_own_summary() {
    let summaries: Vec<_> = UxEventKind::ALL
        .iter()
        .map(|kind| {
            let record = kept(&least(*kind)).unwrap();
            assert_eq!(record.kind, *kind);
            record.summary
        })
        .collect();
    assert_eq!(
        summaries,
        [
            "opened chat",
            "came from cli",
            "step model",
            "said something",
            "denied after 12 s",
            "looked at a run",
            "went on with a conversation",
            "was shown http/busy",
            "met rage_click",
        ]
    );
}

#[test]
fn a_record_has_the_fields_of_its_contract_and_no_other() {
    let mut event = least(UxEventKind::RunInspected);
    event["session_id"] = ULID.to_lowercase().into();
    event["latency_ms"] = json!(1500.0);
    let record = serde_json::to_value(kept(&event).unwrap()).unwrap();
    assert_eq!(
        record,
        json!({
            "event_id": "00000000000000000000000007",
            "at": 1_700_000_000_000_u64,
            "kind": "ux.run.inspected",
            "surface": "web",
            "section": "chat",
            "outcome": "ok",
            "latency_ms": 1500,
            "session_id": ULID,
            "run_id": ULID,
            "summary": "looked at a run",
        })
    );
}

#[test]
fn how_long_a_question_waited_is_how_long_it_took() {
    let record = kept(&least(UxEventKind::ApprovalResolved)).unwrap();
    assert_eq!(record.latency_ms, 12_000);
    let refused = kept(&with(UxEventKind::ApprovalResolved, "latency_ms", json!(1))).unwrap_err();
    assert_eq!(refused, "latency_ms does not belong to ux.approval.resolved: leave it out");
}

/// What belongs to some kinds alone, each with a value that is right there.
fn of_some_kinds() -> [(&'static str, Value); 7] {
    [
        ("source", json!("tui")),
        ("intent", json!("approve")),
        ("step", json!("profile")),
        ("verdict", json!("approve")),
        ("waited_seconds", json!(1)),
        ("code", json!("http/busy")),
        ("friction", json!("rage_click")),
    ]
}

#[test]
fn what_does_not_belong_to_an_event_is_refused_and_what_does_is_needed() {
    let optional = [(UxEventKind::HandoffOpened, "intent")];
    for kind in UxEventKind::ALL {
        let own = least(*kind);
        for (field, value) in of_some_kinds() {
            let belongs = own.get(field).is_some() || optional.contains(&(*kind, field));
            let told = kept(&with(*kind, field, value));
            assert_eq!(told.is_ok(), belongs, "{kind} with {field}: {told:?}");
            if !belongs {
                let foreign = format!("{field} does not belong to {kind}: leave it out");
                assert_eq!(told.unwrap_err(), foreign);
            }
        }
        for field in own.as_object().unwrap().keys() {
            let mut without = own.clone();
            without.as_object_mut().unwrap().remove(field);
            let refused = kept(&without).unwrap_err();
            assert!(refused.contains(field.as_str()) && refused.contains("missing"), "{refused}");
        }
    }
}

#[test]
fn numbers_are_bounded() {
    for (kind, field, most) in [
        (UxEventKind::SurfaceOpened, "latency_ms", MAX_LATENCY_MS),
        (UxEventKind::ApprovalResolved, "waited_seconds", MAX_WAITED_SECONDS),
    ] {
        assert!(kept(&with(kind, field, json!(most))).is_ok());
        let refused = kept(&with(kind, field, json!(most + 1))).unwrap_err();
        assert_eq!(refused, format!("{field} is at most {most}"));
        for value in [json!(-1), json!(0.5), json!("1"), json!(1e300), json!([1]), json!(true)] {
            assert!(kept(&with(kind, field, value.clone())).is_err(), "{value}");
        }
    }
}

/// Every field that an event can have, and some that people would try.
const FIELDS: [&str; 22] = [
    "event_id",
    "kind",
    "surface",
    "section",
    "outcome",
    "latency_ms",
    "session_id",
    "run_id",
    "source",
    "intent",
    "step",
    "verdict",
    "waited_seconds",
    "code",
    "friction",
    "summary",
    "text",
    "message",
    "at",
    "detail",
    "payload",
    "",
];

/// What may stand in a record: words that are ours, wherever they come from.
fn is_ours(text: &str) -> bool {
    let is_word = |word: &str| {
        registry().any(|contract| contract.values.iter().any(|value| value.wire == word))
            || word.parse::<ErrorCode>().is_ok()
            || word.parse::<EventId>().is_ok_and(|id| id.to_string() == word)
            || word.parse::<u64>().is_ok()
    };
    let own = "opened came from to step said something approved denied after s looked at a run \
               went on with conversation was shown met";
    text.split(' ').all(|word| is_word(word) || own.split(' ').any(|own| own == word))
}

/// Whatever a caller might want to have kept: words, blanks around words, text that looks like an id.
fn any_text() -> impl Strategy<Value = String> {
    let words: Vec<String> = registry()
        .flat_map(|contract| contract.values.iter())
        .flat_map(|value| value.spellings().map(str::to_owned))
        .collect();
    prop_oneof![
        "\\PC{0,60}",
        "[0-9A-Za-z]{26}",
        "[ \t\n]{0,3}[a-z._-]{1,20}[ \t\n]{0,3}",
        select(words).prop_map(|word| word.to_uppercase()),
        ("\\PC{1,20}", "[a-z]{2,8}").prop_map(|(said, word)| format!("{word} {said}")),
        Just("my password is hunter2".to_owned()),
        Just("ux.surface.opened; hunter2".to_owned()),
        Just("http/busy hunter2".to_owned()),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    any_text().prop_flat_map(|text| {
        select(vec![
            json!(text),
            json!([text]),
            json!({ "text": text }),
            json!({ "$serde_json::private::RawValue": text }),
        ])
    })
}

proptest! {
    /// A text gets in through no field, of no kind of event: it is refused, or it was a word of ours,
    /// and the word is what is kept.
    #[test]
    fn no_text_of_anybody_is_kept(
        kind in select(UxEventKind::ALL),
        fields in prop::collection::vec((select(&FIELDS[..]), any_value()), 1..4),
    ) {
        let mut event = least(kind);
        for (field, value) in fields {
            event[field] = value;
        }
        if let Ok(record) = kept(&event) {
            let Value::Object(record) = serde_json::to_value(record).unwrap() else {
                return Err(TestCaseError::fail("a record is an object"));
            };
            for (field, value) in record {
                match value {
                    Value::String(text) => prop_assert!(is_ours(&text), "{}: {:?}", field, text),
                    Value::Number(_) => {}
                    other => return Err(TestCaseError::fail(format!("{field}: {other}"))),
                }
            }
        }
    }

    #[test]
    fn whatever_is_read_has_a_short_summary(
        kind in select(UxEventKind::ALL),
        fields in prop::collection::vec(select(of_some_kinds().to_vec()), 0..3),
        waited in 0..=MAX_WAITED_SECONDS,
        code in select(ErrorCode::ALL),
    ) {
        let mut event = least(kind);
        fields.into_iter().for_each(|(field, value)| event[field] = value);
        match kind {
            UxEventKind::ApprovalResolved => event["waited_seconds"] = waited.into(),
            UxEventKind::ErrorShown => event["code"] = json!(code),
            _ => {}
        }
        if let Ok(record) = kept(&event) {
            prop_assert!(record.summary.chars().count() <= MAX_SUMMARY_CHARS);
            prop_assert!(!record.summary.is_empty());
        }
    }

    #[test]
    fn an_event_of_any_fields_is_refused_with_the_field(latency: u32, waited: u32) {
        let mut new: NewConsoleEvent =
            serde_json::from_value(least(UxEventKind::ApprovalResolved)).unwrap();
        (new.latency_ms, new.waited_seconds) = (None, Some(waited));
        let read = ConsoleEvent::try_from(&new);
        prop_assert_eq!(read.is_ok(), waited <= MAX_WAITED_SECONDS);
        new.latency_ms = Some(latency);
        let foreign = matches!(ConsoleEvent::try_from(&new), Err(ConsoleEventError::Foreign { .. }));
        prop_assert!(foreign);
    }
}

/// A table of what can be said: were a field for a text added, it would show here.
#[test]
fn there_is_no_field_for_a_text() {
    let full = NewConsoleEvent {
        event_id: Some(ULID.parse().unwrap()),
        latency_ms: Some(1),
        session_id: Some(ULID.parse().unwrap()),
        run_id: Some(ULID.parse().unwrap()),
        source: Some(crate::runtime_contracts::TelemetrySurface::Cli),
        intent: Some(crate::runtime_contracts::HandoffIntent::Approve),
        step: Some(super::OnboardingStep::Model),
        verdict: Some(crate::api::ApprovalVerdict::Deny),
        waited_seconds: Some(1),
        code: Some(ErrorCode::HttpBusy),
        friction: Some(super::UxFriction::RageClick),
        ..serde_json::from_value(least(UxEventKind::SurfaceOpened)).unwrap()
    };
    let Value::Object(full) = serde_json::to_value(&full).unwrap() else { panic!("an object") };
    for (field, value) in full {
        let event = with(UxEventKind::SurfaceOpened, &field, json!("some text"));
        assert!(kept(&event).is_err(), "{field}, as {value}, takes a text");
    }
}

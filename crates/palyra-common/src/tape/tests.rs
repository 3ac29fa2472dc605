use serde_json::json;

use super::*;

#[test]
fn an_entry_is_one_flat_object_with_its_kind_and_payload() {
    let entry = TapeEntry {
        seq: 7,
        at: Timestamp::from_unix_millis(5),
        event: TapeEvent::ToolStarted(ToolStarted { call: "c1".into(), attempt: 2 }),
    };
    let wire = json!({
        "seq": 7, "at": 5, "kind": "tool.started", "payload": {"call": "c1", "attempt": 2},
    });
    assert_eq!(serde_json::to_value(&entry).unwrap(), wire);
    assert_eq!(serde_json::from_value::<TapeEntry>(wire).unwrap(), entry);
}

#[test]
fn the_kind_is_the_one_on_the_wire() {
    let events = [
        TapeEvent::RunPhase(Phase { phase: RunLifecyclePhase::Running, reason: None }),
        TapeEvent::ToolGated(ToolGated {
            call: "c1".into(),
            decision: GateDecision::Ask,
            reason: GateReason::Risky,
        }),
    ];
    for event in events {
        let wire = serde_json::to_value(&event).unwrap();
        assert_eq!(wire["kind"], json!(event.kind().as_str()));
    }
}

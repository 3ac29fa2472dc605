use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::{Input, ModelDelta, Queued};

use super::*;

/// What is passed on unread is what was written, whatever stands in it.
#[test]
fn a_line_is_what_its_event_says() {
    let text = "a \"quoted\" {brace},\"payload\":} and \u{1f980}\n".to_owned();
    let sender = "ann\",\"kind\":\"x".to_owned();
    let events = [
        TapeEvent::RunQueued(Queued { agent: "default".to_owned(), parent: None }),
        TapeEvent::InputMessage(Input {
            text: text.clone(),
            sender,
            trust: Trust::Operator,
            connector: None,
        }),
        TapeEvent::ModelDelta(ModelDelta { turn: 1, attempt: 2, offset: 3, text }),
    ];
    for event in events {
        let entry = TapeEntry { seq: 7, at: Timestamp::from_unix_millis(9), event };
        let line = line(entry.clone()).unwrap();
        assert_eq!((line.seq, line.at, line.schema), (7, entry.at, SCHEMA));
        assert_eq!(line.kind, entry.event.kind().as_str());
        let whole = format!("{{\"kind\":\"{}\",\"payload\":{}}}", line.kind, line.payload);
        assert_eq!(serde_json::from_str::<TapeEvent>(&whole).unwrap(), entry.event);
    }
}

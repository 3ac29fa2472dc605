use std::sync::Arc;

use palyra_common::api::{ExportedEvent, Replayed, TapeHead};
use palyra_common::tape::{Brought, BroughtTool, TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_connector_core::Outgoing;

use super::{TapeFileError, exported, replay_file};
use crate::replay::tests::tapes::{plain, run, shown, taken_over, with_a_question};

/// Takes one text out.
struct Without(&'static str);

impl Outgoing for Without {
    fn clean(&self, text: &str) -> String {
        text.replace(self.0, "[redacted]")
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(Self(self.0))
    }
}

fn lines(events: &[TapeEvent], secret: &'static str) -> String {
    let head = TapeHead { palyra_tape: TapeHead::VERSION, run: run() };
    let mut file = serde_json::to_string(&head).unwrap() + "\n";
    for (seq, event) in (1..).zip(events) {
        let entry = TapeEntry { seq, at: Timestamp::UNIX_EPOCH, event: event.clone() };
        let event = exported(entry, &Without(secret));
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<ExportedEvent>(&line).unwrap(), event);
        file += &(line + "\n");
    }
    file
}

fn replayed(file: &str) -> Result<Replayed, TapeFileError> {
    replay_file(file.as_bytes())
}

#[test]
fn what_was_exported_replays_elsewhere() {
    for tape in [plain(), with_a_question(), shown()] {
        let outcome = replayed(&lines(&tape, "nothing of it")).unwrap();
        assert_eq!((outcome.same, outcome.events), (true, tape.len() as u64));
        assert_eq!(outcome.run, run());
    }
}

/// What was taken out cannot be made again, and the rest is replayed all the same.
#[test]
fn secrets_are_taken_out_and_decisions_stay() {
    let question = with_a_question();
    let (taken_over, shown) = (taken_over(), shown());
    for (tape, secret) in [
        (&question, "\"n\""),
        (&question, "hello"),
        (&taken_over, "who knows"),
        (&shown, "Harbour"),
        (&shown, "variant"),
    ] {
        let file = lines(tape, secret);
        let escaped = secret.replace('"', "\\\"");
        assert!(!file.contains(&escaped), "{secret}: {file}");
        assert!(file.contains("\"redacted\":true"), "{secret}");
        let outcome = replayed(&file).unwrap();
        assert_eq!(outcome.difference, None, "{secret}");
    }
    let file = lines(&with_a_question(), "\"n\"").replace("\"risky\"", "\"low_risk\"");
    assert!(replayed(&file).unwrap().difference.is_some());
}

#[test]
fn secrets_in_tools_of_whoever_began_a_run_are_taken_out() {
    let tool = BroughtTool {
        name: "weather".into(),
        description: "with a s3cr3t".into(),
        parameters: serde_json::json!({
            "properties": { "s3cr3t": { "enum": ["a", "the s3cr3t"], "default": { "at": "s3cr3t" } } },
        }),
    };
    let brought = Brought {
        sender: "operator:ann".into(),
        messages: Vec::new(),
        tools: vec![tool],
        max_output_tokens: None,
        temperature: None,
    };
    let file = lines(&[TapeEvent::InputBrought(brought)], "s3cr3t");
    assert_eq!((file.matches("[redacted]").count(), file.contains("s3cr3t")), (4, false), "{file}");
    assert!(file.contains("\"redacted\":true"), "{file}");
}

#[test]
fn a_file_that_is_no_tape_says_why() {
    let whole = lines(&plain(), "nothing of it");
    let (head, rest) = whole.split_once('\n').unwrap();
    let check = |file: &str, expected: &str| {
        let error = replayed(file).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check("", "it does not begin");
    check(rest, "it does not begin");
    check(&whole.replacen('1', "2", 1), "its form is 2, and this version knows 1");
    check(&format!("{head}\n{{}}\n"), "line 2: it is not an event");
    let first = rest.lines().next().unwrap();
    check(&format!("{head}\n{first}\n{first}\n"), "line 3: its number");
}

use serde_json::json;

use super::*;
use crate::{ToolSpec, Unheard};

/// What it hears, and what it was told in whole.
#[derive(Default)]
struct Heard(Vec<String>);

impl DeltaSink for Heard {
    fn delta(&mut self, delta: Delta<'_>) {
        let Delta::Text(text) = delta;
        self.0.push(text.to_owned());
    }
}

fn request(turns: Vec<Turn>, tools: &[&str]) -> ModelRequest {
    let tool = |name: &&str| ToolSpec {
        name: (*name).into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
    };
    let tools = tools.iter().map(tool).collect();
    ModelRequest { turns, tools, max_output_tokens: 1_000, ..ModelRequest::default() }
}

const TOOLS: [&str; 4] = ["http.fetch", "fs.read", "fs.write", "time.now"];

#[track_caller]
fn check(said: &str, expected: &[(&str, serde_json::Value)]) {
    let done = answer(&request(vec![Turn::user(said)], &TOOLS), &mut Unheard);
    let calls: Vec<_> =
        done.calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
    let expected: Vec<_> =
        expected.iter().map(|(name, arguments)| (*name, arguments.to_string())).collect();
    assert_eq!(calls.len(), expected.len(), "{done:?}");
    for ((name, arguments), (expected_name, expected)) in calls.into_iter().zip(&expected) {
        assert_eq!((name, arguments), (*expected_name, expected));
    }
    let finish = if expected.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    assert_eq!(done.finish, finish);
}

#[test]
fn lines_become_calls() {
    check(
        "fetch https://example.org/a?b=1",
        &[("http.fetch", json!({"url": "https://example.org/a?b=1"}))],
    );
    check("Read notes.txt", &[("fs.read", json!({"path": "notes.txt"}))]);
    check("What time is it?", &[("time.now", json!({}))]);
    check("use fs.read {\"path\":1}", &[("fs.read", json!({"path": 1}))]);
    check("use time.now", &[("time.now", json!({}))]);
    check(
        "write a.txt: first: line\nread it all",
        &[("fs.write", json!({"path": "a.txt", "content": "first: line\nread it all"}))],
    );
    check(
        "Good morning.\nread a\nread b",
        &[("fs.read", json!({"path": "a"})), ("fs.read", json!({"path": "b"}))],
    );
}

#[test]
fn a_card_is_shown_about_what_was_said() {
    let done = answer(
        &request(vec![Turn::user("Show a card about the old harbour")], &["ui.show"]),
        &mut Unheard,
    );
    assert_eq!(done.calls[0].name, "ui.show");
    let arguments: serde_json::Value = serde_json::from_str(&done.calls[0].arguments).unwrap();
    assert_eq!(arguments["title"], "the old harbour");
    assert_eq!(arguments["buttons"][0]["action"], "thanks");
}

#[test]
fn sentences_do_not() {
    for said in ["read me a story", "I use tools", "write soon", "fetch", "used fs.read {}", "ü"] {
        check(said, &[]);
    }
}

#[test]
fn arguments_are_passed_on_as_they_were_said() {
    let done = answer(&request(vec![Turn::user("use fs.read {not json")], &TOOLS), &mut Unheard);
    assert_eq!(done.calls[0].arguments, "{not json");
}

#[test]
fn what_is_not_there_is_said() {
    for (said, tool) in [
        ("remember that the sky is blue", "memory.remember"),
        ("what do you know about the sky?", "memory.search"),
        ("show a card about the sky", "ui.show"),
        ("use rocket.launch {}", "rocket.launch"),
    ] {
        let done = answer(&request(vec![Turn::user(said)], &TOOLS), &mut Unheard);
        assert!(done.text.contains(&format!("There is no tool {tool} here")), "{done:?}");
        assert_eq!((done.calls.len(), done.finish), (0, FinishReason::Stop));
        let done = answer(&request(vec![Turn::user(said)], &[tool]), &mut Unheard);
        assert_eq!(done.calls[0].name, tool);
    }
}

#[test]
fn results_are_told_plainly() {
    let call = |id: &str, name: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: "{}".into(),
    };
    let result =
        |id: &str, content: String, outcome| ToolResult { call_id: id.into(), content, outcome };
    let turns = vec![
        Turn::user("read a\nread b"),
        Turn::Assistant {
            text: String::new(),
            calls: vec![call("1", "fs.read"), call("2", "fs.write")],
        },
        Turn::ToolResults {
            results: vec![
                result("1", "x".repeat(1_500), ToolOutcome::Done),
                result("2", "denied".into(), ToolOutcome::Failed),
                result("3", "?".into(), ToolOutcome::Done),
            ],
        },
    ];
    let done = answer(&request(turns, &TOOLS), &mut Unheard);
    let text = format!(
        "fs.read gave: {}… (500 more characters)\nfs.write failed: denied\na tool gave: ?",
        "x".repeat(1_000)
    );
    assert_eq!((done.text, done.calls.len()), (text, 0));
}

#[test]
fn a_greeting_is_answered_with_what_it_can_do() {
    for said in ["hello", "Hi!", "help", "what can you do?"] {
        let done = answer(&request(vec![Turn::user(said)], &TOOLS), &mut Unheard);
        assert!(done.text.contains("offline") && done.text.contains("read FILE\n"), "{done:?}");
        assert!(done.text.contains("remember that FACT (not there yet)"), "{done:?}");
    }
    let done = answer(&request(vec![Turn::user("why?")], &TOOLS), &mut Unheard);
    assert!(
        done.text.contains("offline model") && done.text.contains("You said: why?"),
        "{done:?}"
    );
}

#[test]
fn an_answer_comes_in_pieces_that_are_the_whole() {
    let mut heard = Heard::default();
    let request = request(vec![Turn::user("hello")], &TOOLS);
    let done = answer(&request, &mut heard);
    assert!(heard.0.len() > 5, "{heard:?}", heard = heard.0);
    assert_eq!(heard.0.concat(), done.text);
    assert_eq!(done.usage.output_tokens, count_tokens(&done.text));
    assert_eq!(done.usage.input_tokens, count_request(&request));
    assert_eq!(answer(&request, &mut Unheard), done, "the same question, the same answer");
}

#[test]
fn an_answer_is_as_long_as_it_may_be() {
    let mut request = request(vec![Turn::user("hello")], &TOOLS);
    request.max_output_tokens = 10;
    let done = answer(&request, &mut Unheard);
    assert_eq!(done.finish, FinishReason::Length);
    assert!(!done.text.is_empty() && done.usage.output_tokens <= 10, "{done:?}");
}

#[test]
fn long_strange_input_is_no_harm() {
    for said in ["\u{0}\u{1}", &"use ".repeat(1 << 20), &"read x\n".repeat(1 << 16), "write", ":"] {
        let done = answer(&request(vec![Turn::user(said)], &TOOLS), &mut Unheard);
        assert!(done.calls.len() <= 16 && done.text.len() < 10_000);
    }
}

#[test]
fn what_others_said_is_read_without_its_marks() {
    let said = crate::marked("from ann", "hello");
    let done = answer(&request(vec![Turn::user(said)], &TOOLS), &mut Unheard);
    assert!(done.text.starts_with("Hello.") && !done.text.contains("untrusted"), "{done:?}");
    let read = crate::marked("from ann", "read notes.txt");
    check(&read, &[("fs.read", json!({"path": "notes.txt"}))]);
    let why = crate::marked("from ann", "why?");
    let done = answer(&request(vec![Turn::user(why)], &TOOLS), &mut Unheard);
    assert!(done.text.ends_with("You said: why?"), "{done:?}");
}

use bytes::Bytes;

use super::*;
use crate::{MediaType, ToolCall, ToolOutcome, ToolResult};

#[test]
fn tokens_are_those_of_the_encoding() {
    for (text, tokens) in [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ] {
        assert_eq!(count_tokens(text), tokens, "{text}");
    }
}

/// An encoder that merges pair by pair, or a pattern that backtracks, would not be done this year.
#[test]
fn ten_hostile_megabytes_are_counted() {
    let size = 10 << 20;
    for (piece, bytes_of_a_token) in [("x", 8), (" ", 128), ("\u{1}", 1), ("!?", 2), ("a", 8)] {
        let tokens = count_tokens(&piece.repeat(size / piece.len()));
        // But for what stands at the ends.
        assert!(tokens.abs_diff((size / bytes_of_a_token) as u64) <= 2, "{piece:?}: {tokens}");
    }
}

#[test]
fn everything_in_a_request_counts() {
    let mut request = ModelRequest::default();
    let mut last = count_request(&request);
    let mut grows = |request: &ModelRequest, by: u64| {
        let now = count_request(request);
        assert!(now >= last + by, "{now} {last}");
        last = now;
    };
    request.system = Some("be kind".into());
    grows(&request, 2);
    request.turns.push(Turn::user("hello world"));
    grows(&request, 2);
    let image = Part::Image { media_type: MediaType::Png, bytes: Bytes::from_static(b"x") };
    request.turns.push(Turn::User { parts: vec![image] });
    grows(&request, IMAGE_TOKENS);
    let call =
        ToolCall { id: "1".into(), name: "fs.read".into(), arguments: "{\"path\": 1}".into() };
    request.turns.push(Turn::Assistant { text: "hello world".into(), calls: vec![call] });
    grows(&request, 8);
    let result = ToolResult {
        call_id: "1".into(),
        content: "hello world".into(),
        outcome: ToolOutcome::Done,
    };
    request.turns.push(Turn::ToolResults { results: vec![result] });
    grows(&request, 2);
    request.tools.push(ToolSpec {
        name: "fs.read".into(),
        description: "reads a file".into(),
        input_schema: serde_json::json!({"type": "object"}),
    });
    grows(&request, 8);
}

use serde_json::json;

use super::*;

/// A tape keeps it, and a later version reads it.
#[test]
fn a_request_has_the_agreed_shape() {
    let request = ModelRequest {
        model: "m".into(),
        system: Some("be kind".into()),
        turns: vec![
            Turn::User {
                parts: vec![
                    Part::text("look"),
                    Part::Image { media_type: MediaType::Png, bytes: Bytes::from_static(b"png") },
                ],
            },
            Turn::Assistant {
                text: String::new(),
                calls: vec![ToolCall {
                    id: "1".into(),
                    name: "fs.read".into(),
                    arguments: "{".into(),
                }],
            },
            Turn::ToolResults {
                results: vec![ToolResult {
                    call_id: "1".into(),
                    content: "no JSON".into(),
                    outcome: ToolOutcome::Failed,
                }],
            },
        ],
        max_output_tokens: 7,
        ..ModelRequest::default()
    };
    let wire = json!({
        "model": "m",
        "system": "be kind",
        "turns": [
            {"role": "user", "parts": [
                {"kind": "text", "text": "look"},
                {"kind": "image", "media_type": "image/png", "bytes": "cG5n"},
            ]},
            {"role": "assistant", "text": "",
             "calls": [{"id": "1", "name": "fs.read", "arguments": "{"}]},
            {"role": "tool_results",
             "results": [{"call_id": "1", "content": "no JSON", "outcome": "failed"}]},
        ],
        "max_output_tokens": 7,
    });
    assert_eq!(serde_json::to_value(&request).unwrap(), wire);
    assert_eq!(serde_json::from_value::<ModelRequest>(wire).unwrap(), request);
}

#[test]
fn a_completion_has_the_agreed_shape() {
    let completion = Completion {
        text: "hello".into(),
        calls: Vec::new(),
        finish: FinishReason::ToolCalls,
        usage: Usage { input_tokens: 3, output_tokens: 2, cached_input_tokens: 1 },
        model: "m".into(),
    };
    let wire = json!({
        "text": "hello",
        "calls": [],
        "finish": "tool_calls",
        "usage": {"input_tokens": 3, "output_tokens": 2, "cached_input_tokens": 1},
        "model": "m",
    });
    assert_eq!(serde_json::to_value(&completion).unwrap(), wire);
    assert_eq!(serde_json::from_value::<Completion>(wire).unwrap(), completion);
}

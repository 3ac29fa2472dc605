//! Text, tools, pictures and usage, in both dialects.

use bytes::Bytes;
use palyra_models::{
    FinishReason, MediaType, Part, ToolCall, ToolOutcome, ToolResult, Turn, Usage,
};
use palyra_testkit::model_sim::{Fault, Gate, MODEL, Reply};
use serde_json::json;

use crate::world::{Heard, KEY, KINDS, LONG, World, hello, with_tools};

#[tokio::test]
async fn text_comes_piece_by_piece_and_as_a_whole() {
    for kind in KINDS {
        let world = World::new(kind);
        world.a.require_key(KEY);
        world.a.reply(Reply::text("one two  three").usage(100, 7, 60));
        let mut heard = Heard::default();
        let answer = world.ask_list(&["a"], &hello(), &mut heard).await.unwrap();
        assert_eq!(heard.pieces, ["one ", "two ", " ", "three"]);
        let done = answer.completion;
        assert_eq!((done.text.as_str(), done.finish), ("one two  three", FinishReason::Stop));
        let usage = Usage { input_tokens: 100, output_tokens: 7, cached_input_tokens: 60 };
        assert_eq!((done.usage, done.model.as_str()), (usage, "a-large"));
        let asked = world.a.asked();
        assert_eq!((asked.len(), asked[0].key.as_deref()), (1, Some(KEY)));
        assert_ne!(MODEL, "a-large", "the model is the one of the entry");
    }
}

/// With the next piece held back, the one before has arrived.
#[tokio::test]
async fn nothing_waits_for_the_end() {
    for kind in KINDS {
        let world = World::new(kind);
        let gate = Gate::shut();
        world.a.reply(Reply::text("one two three").with(Fault::Gated(gate.clone())));
        let (send, mut pieces) = tokio::sync::mpsc::unbounded_channel();
        struct Sender(tokio::sync::mpsc::UnboundedSender<String>);
        impl palyra_models::DeltaSink for Sender {
            fn delta(&mut self, delta: palyra_models::Delta<'_>) {
                if let palyra_models::Delta::Text(text) = delta {
                    self.0.send(text.to_owned()).unwrap();
                }
            }
        }
        let mut sink = Sender(send);
        let (list, request) = (["a".parse().unwrap()], hello());
        let asking = world.models.complete(&list, &request, &mut sink);
        let watching = async {
            for expected in ["one ", "two ", "three"] {
                // As many as it takes until text comes.
                let piece = loop {
                    gate.let_through(1);
                    let brief = std::time::Duration::from_millis(20);
                    if let Ok(piece) = tokio::time::timeout(brief, pieces.recv()).await {
                        break piece.unwrap();
                    }
                };
                assert_eq!(piece, expected);
            }
            gate.let_through(100);
        };
        let both = async { tokio::join!(asking, watching).0 };
        let answer = tokio::time::timeout(LONG, both).await.unwrap().unwrap();
        assert_eq!(answer.completion.text, "one two three");
    }
}

#[tokio::test]
async fn tools_go_there_and_back_under_their_own_names() {
    for kind in KINDS {
        let world = World::new(kind);
        let mut request = with_tools(hello());
        world.a.reply(
            Reply::text("I look.")
                .call("fs_read", &json!({"path": "é"}))
                .call("fs_read_2", &json!({"path": "b"}))
                .call("no.such", &json!({}))
                .raw_call("time_now", ""),
        );
        let done = world.ask(&request).await.unwrap();
        assert_eq!((done.text.as_str(), done.finish), ("I look.", FinishReason::ToolCalls));
        let calls: Vec<_> =
            done.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        let expected = [
            ("fs_read", r#"{"path":"é"}"#),
            ("fs.read", r#"{"path":"b"}"#),
            ("no.such", "{}"),
            ("time.now", "{}"),
        ];
        assert_eq!(calls, expected);
        let result = |call: &ToolCall| ToolResult {
            call_id: call.id.clone(),
            content: format!("of {}", call.name),
            outcome: ToolOutcome::Done,
        };
        let results = done.calls.iter().map(result).collect();
        request.turns.push(Turn::Assistant { text: done.text, calls: done.calls });
        request.turns.push(Turn::ToolResults { results });
        // The simulator refuses results that belong to nothing, and names that cannot be sent.
        let done = world.ask(&request).await.unwrap();
        assert!(done.text.starts_with("The tool said: "), "{done:?}");
        assert!(done.text.contains("of time.now"), "{done:?}");
        let body = &world.a.asked()[1].body;
        let sent = body.to_string();
        assert!(sent.contains("fs_read_2") && !sent.contains("\"fs.read\""), "{sent}");
        assert_eq!(world.a.asked()[1].tools(), ["fs_read_2", "fs_read", "time_now"]);
    }
}

#[tokio::test]
async fn a_tool_is_called_by_whoever_tries_it_by_hand() {
    for kind in KINDS {
        let world = World::new(kind);
        let mut request = with_tools(hello());
        request.turns = vec![Turn::user("use time.now {\"zone\": \"utc\"}")];
        let done = world.ask(&request).await.unwrap();
        assert_eq!(done.calls[0].name, "time.now");
        assert_eq!(done.calls[0].arguments, "{\"zone\": \"utc\"}");
    }
}

#[tokio::test]
async fn pictures_are_sent() {
    for kind in KINDS {
        let world = World::with(kind, |config| {
            let mut blind = crate::world::entry("a");
            blind.images = false;
            config.entries.insert("blind".into(), blind);
        });
        let image = Part::Image { media_type: MediaType::Jpeg, bytes: Bytes::from_static(b"jpeg") };
        let mut request = hello();
        request.turns = vec![Turn::User { parts: vec![Part::text("look"), image] }];
        world.ask(&request).await.unwrap();
        let sent = world.a.asked()[0].body.to_string();
        assert!(sent.contains("anBlZw==") && sent.contains("image/jpeg"), "{sent}");
        world.ask_list(&["blind"], &request, &mut Heard::default()).await.unwrap();
        let sent = world.a.asked()[1].body.to_string();
        assert!(!sent.contains("anBlZw=="), "{sent}");
        assert!(sent.contains("[image/jpeg of 4 bytes, which this model cannot see]"), "{sent}");
    }
}

#[tokio::test]
async fn why_an_answer_ends_is_told() {
    for kind in KINDS {
        let world = World::new(kind);
        for (reason, finish) in [
            ("stop", FinishReason::Stop),
            ("length", FinishReason::Length),
            ("content_filter", FinishReason::Refused),
        ] {
            world.a.reply(Reply::text("so far").finish(reason));
            assert_eq!(world.ask(&hello()).await.unwrap().finish, finish);
        }
    }
}

#[tokio::test]
async fn an_answer_is_no_longer_than_the_model_may_write() {
    for kind in KINDS {
        let world = World::new(kind);
        let mut request = hello();
        request.max_output_tokens = 1_000_000;
        world.ask(&request).await.unwrap();
        assert_eq!(world.a.asked()[0].body["max_tokens"], 4_096);
    }
}

/// Ten megabytes of everything that is special to somebody.
#[tokio::test]
async fn a_large_hostile_message_is_carried_as_it_is() {
    for kind in KINDS {
        let world = World::new(kind);
        world.a.rule(|_| Reply::text("read"));
        let hostile = "\u{1}\u{7f}\"\\</s><|im_end|>\u{202e}data: [DONE]\n\n".repeat(200_000);
        let mut request = hello();
        request.turns = vec![Turn::user(hostile.clone())];
        assert_eq!(world.ask(&request).await.unwrap().text, "read");
        let body = &world.a.asked()[0].body;
        let messages = body["messages"].as_array().unwrap();
        let content = &messages.last().unwrap()["content"];
        let said = content.as_str().or_else(|| content[0]["text"].as_str());
        assert!(said == Some(hostile.as_str()));
    }
}

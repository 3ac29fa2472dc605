//! What it costs to look at a message of A2UI, beside reading its JSON and nothing else.
//!
//! The messages are those of the largest published example. Where the published files are not beside
//! this repository, a card of about that size takes their place.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use palyra_common::a2ui::{Card, Field, Input, Message};
use palyra_testkit::figures::{in_turns, report};
use serde_json::Value;

const TURNS: usize = 31;
const TIMES: u32 = 200;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let texts = published().unwrap_or_else(card);
    let ours = || micros(|| texts.iter().for_each(|text| drop(black_box(Message::read(text)))));
    let raw = || {
        micros(|| {
            for text in &texts {
                drop(black_box(serde_json::from_str::<Value>(text)));
            }
        })
    };
    assert!(texts.iter().all(|text| Message::read(text).is_ok()));
    report("a2ui.validate_us", "us", in_turns(TURNS, ours, raw), None);
}

/// How long one of many takes.
fn micros(mut work: impl FnMut()) -> f64 {
    let begun = Instant::now();
    (0..TIMES).for_each(|_| work());
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
}

/// The messages of the largest example.
fn published() -> Option<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/a2ui/v0_9/examples");
    let examples = std::fs::read_dir(folder).ok()?;
    let texts = examples.filter_map(|example| std::fs::read_to_string(example.ok()?.path()).ok());
    let largest = texts.max_by_key(String::len)?;
    let example: Value = serde_json::from_str(&largest).ok()?;
    Some(example["messages"].as_array()?.iter().map(Value::to_string).collect())
}

fn card() -> Vec<String> {
    let field = |n: u32| Field { label: format!("Fact {n}"), value: "so and so".to_owned() };
    let input =
        |n: u32| Input { name: format!("n{n}"), label: "Say".to_owned(), value: String::new() };
    let card = Card {
        title: "A card".to_owned(),
        fields: (0..12).map(field).collect(),
        inputs: (0..6).map(input).collect(),
        ..Card::default()
    };
    let messages = card.messages(&"card".parse().unwrap()).unwrap();
    messages.iter().map(|message| message.to_value().to_string()).collect()
}

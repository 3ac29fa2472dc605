//! The JSON Schemas of inputs and outputs.

use serde_json::{Map, Value, json};

use super::{
    AuxiliaryInput, MAX_CANDIDATE_CHARS, MAX_IMAGES, MAX_ITEMS, MAX_MEANING_CHARS, MAX_NAME_CHARS,
    MAX_QUESTION_CHARS, MAX_SUMMARY_CHARS, MAX_TEXT_CHARS, MAX_VALUE_CHARS, Named, SummaryShape,
};
use crate::runtime_contracts::AuxiliaryTaskKind;

/// What a task of a kind takes.
pub fn input_schema(kind: AuxiliaryTaskKind) -> Value {
    match kind {
        AuxiliaryTaskKind::Summary => object(
            json!({
                "text": text(1, MAX_TEXT_CHARS),
                "before": text(1, MAX_SUMMARY_CHARS),
                "shape": {"enum": ["notes", "title"]},
                "max_chars": {"type": "integer", "minimum": 16, "maximum": MAX_SUMMARY_CHARS},
            }),
            &["text", "shape", "max_chars"],
        ),
        AuxiliaryTaskKind::RecallSearch => object(
            json!({
                "query": text(1, MAX_QUESTION_CHARS),
                "context": text(0, MAX_QUESTION_CHARS),
                "candidates": list(text(1, MAX_CANDIDATE_CHARS), 1, MAX_ITEMS),
                "most": {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS},
            }),
            &["query", "candidates", "most"],
        ),
        AuxiliaryTaskKind::Classification => object(
            json!({"text": text(1, MAX_TEXT_CHARS), "labels": list(named(), 2, MAX_ITEMS)}),
            &["text", "labels"],
        ),
        AuxiliaryTaskKind::Extraction => object(
            json!({"text": text(1, MAX_TEXT_CHARS), "fields": list(named(), 1, MAX_ITEMS)}),
            &["text", "fields"],
        ),
        AuxiliaryTaskKind::ObjectiveJudge => object(
            json!({
                "goal": text(1, MAX_QUESTION_CHARS),
                "criteria": list(text(1, MAX_MEANING_CHARS), 1, MAX_ITEMS),
                "attempt": text(0, MAX_TEXT_CHARS),
            }),
            &["goal", "criteria", "attempt"],
        ),
        AuxiliaryTaskKind::Vision => object(
            json!({
                "prompt": text(1, MAX_QUESTION_CHARS),
                "images": list(image(), 1, MAX_IMAGES),
            }),
            &["prompt", "images"],
        ),
    }
}

/// What has to come out of a task.
pub fn output_schema(input: &AuxiliaryInput) -> Value {
    match input {
        AuxiliaryInput::Summary(wanted) => match wanted.shape {
            SummaryShape::Notes => text(1, wanted.max_chars as usize),
            SummaryShape::Title => {
                let mut line = text(1, wanted.max_chars as usize);
                line["pattern"] = json!(r"^\S[^\r\n]*$");
                line
            }
        },
        AuxiliaryInput::RecallSearch(asked) => {
            let last = asked.candidates.len().saturating_sub(1);
            let evidence = object(
                json!({
                    "index": {"type": "integer", "minimum": 0, "maximum": last},
                    "score": {"type": "number", "minimum": 0, "maximum": 1},
                    "quote": text(0, MAX_VALUE_CHARS),
                }),
                &["index", "score", "quote"],
            );
            object(json!({"evidence": list(evidence, 0, asked.most as usize)}), &["evidence"])
        }
        AuxiliaryInput::Classification(asked) => {
            let labels: Vec<&str> = names(&asked.labels);
            object(
                json!({
                    "label": {"enum": labels},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                }),
                &["label", "confidence"],
            )
        }
        AuxiliaryInput::Extraction(asked) => {
            let value = || text(1, MAX_VALUE_CHARS);
            let found = names(&asked.fields).into_iter().map(|name| (name.to_owned(), value()));
            let fields = object(Value::Object(Map::from_iter(found)), &[]);
            object(json!({ "fields": fields }), &["fields"])
        }
        AuxiliaryInput::ObjectiveJudge(_) => object(
            json!({
                "met": {"type": "boolean"},
                "progress": {"type": "integer", "minimum": 0, "maximum": 100},
                "reason": text(1, MAX_VALUE_CHARS),
                "next_step": {
                    "type": ["string", "null"], "minLength": 1, "maxLength": MAX_VALUE_CHARS,
                },
            }),
            &["met", "progress", "reason", "next_step"],
        ),
        AuxiliaryInput::Vision(_) => object(
            json!({
                "description": text(1, MAX_CANDIDATE_CHARS),
                "text": text(0, MAX_CANDIDATE_CHARS),
                "objects": list(text(1, MAX_NAME_CHARS), 0, MAX_ITEMS),
            }),
            &["description", "text", "objects"],
        ),
    }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn text(least: usize, most: usize) -> Value {
    json!({"type": "string", "minLength": least, "maxLength": most})
}

fn list(of: Value, least: usize, most: usize) -> Value {
    json!({"type": "array", "items": of, "minItems": least, "maxItems": most})
}

fn named() -> Value {
    let properties =
        json!({"name": text(1, MAX_NAME_CHARS), "meaning": text(0, MAX_MEANING_CHARS)});
    object(properties, &["name", "meaning"])
}

fn image() -> Value {
    object(
        json!({
            "media_type": {"enum": ["image/png", "image/jpeg", "image/gif", "image/webp"]},
            "blob": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        }),
        &["media_type", "blob"],
    )
}

fn names(of: &[Named]) -> Vec<&str> {
    of.iter().map(|named| named.name.as_str()).collect()
}

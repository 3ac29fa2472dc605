//! Takes out of a text what could be a secret, and leaves the rest of it readable.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

#[cfg(test)]
mod tests;

const MASK: &str = "[masked]";

/// Shapes of secrets. What group `keep` matches stays before the mask, and `end` after it.
const SHAPES: &[&str] = &[
    // Passwords in addresses: scheme://user:password@host.
    r"(?<keep>[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*:)[^\s/?#]*(?<end>@)",
    // Our own tokens, and those of others whose shape is known.
    r"ply_[A-Za-z0-9_-]{8,}",
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{16,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"\b[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    // Headers, query parameters and settings by name.
    r"(?<keep>(?i-u:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}",
    r"(?<keep>[?&](?i-u:code|token|key|secret|password|signature|sig)=)[^\s&#]+",
    r#"(?<keep>(?i-u:[a-z0-9_-]*(?:password|passphrase|passwd|secret|api[_-]?key|access[_-]?key|token|pwd))\s*[=:]\s*"?)[^\s",}&]+"#,
];

static COMPILED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().filter_map(|shape| Regex::new(shape).ok()).collect());

/// `text` with every secret that can be recognised replaced.
pub(crate) fn text(text: &str) -> String {
    COMPILED.iter().fold(text.to_owned(), |text, shape| {
        shape
            .replace_all(&text, |found: &regex::Captures<'_>| {
                let group = |name| found.name(name).map_or("", |group| group.as_str());
                format!("{}{MASK}{}", group("keep"), group("end"))
            })
            .into_owned()
    })
}

/// Every text in `value`.
pub(crate) fn value(value: &mut Value) {
    match value {
        Value::String(inner) => *inner = text(inner),
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(fields) => fields.values_mut().for_each(self::value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

//! What a provider says about an error: as much of it as can be shown to anybody.

use std::fmt;

use palyra_common::shapes;
use serde_json::Value;

use crate::request::ModelRequest;
use crate::secret::ApiKey;

const CODE_CHARS: usize = 64;
const MESSAGE_CHARS: usize = 200;
/// What repeats twice as many characters of a request, less one, is noticed.
const ECHO_CHARS: usize = 12;

/// The code and the first words of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// A word such as `rate_limit_error`; empty if there was none.
    pub code: String,
    /// Some words; empty if there were none, or if they repeat the key or the request.
    pub message: String,
}

impl Said {
    /// Reads the ways in which errors are written: `{"error": {"type", "code", "message"}}`, the same
    /// without `error` around it, and `{"error": "message"}`.
    pub(crate) fn read(told: &Value, request: &ModelRequest, key: Option<&ApiKey>) -> Self {
        let mut code = code(told);
        if key.is_some_and(|key| repeats(&code, key.expose())) {
            code.clear();
        }
        Self { code, message: shown(message(told), request, key) }
    }

    /// Without its words.
    pub(crate) fn code_alone(self) -> Self {
        Self { message: String::new(), ..self }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code.as_str(), self.message.as_str()) {
            ("", "") => Ok(()),
            (one, "") | ("", one) => write!(f, ", it says: {one}"),
            (code, message) => write!(f, ", it says: {code}: {message}"),
        }
    }
}

/// All of the words, to be looked at and not to be shown.
pub(crate) fn message(told: &Value) -> &str {
    let inner = told.get("error").unwrap_or(told);
    inner.get("message").unwrap_or(inner).as_str().unwrap_or_default()
}

/// The word for an error, to be looked at and not to be shown: whoever answers can write there what
/// they like.
pub(crate) fn code(told: &Value) -> String {
    let inner = told.get("error").unwrap_or(told);
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let fits = |word: &str| word.len() <= CODE_CHARS && word.chars().all(allowed);
    let word = |name| match inner.get(name) {
        Some(Value::String(word)) if fits(word) => word.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) | None => String::new(),
    };
    let (code, kind) = (word("code"), word("type"));
    // Some put the status there, which says less.
    let is_word = code.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_word || kind.is_empty() { code } else { kind }
}

fn shown(message: &str, request: &ModelRequest, key: Option<&ApiKey>) -> String {
    let readable = message.chars().map(|c| if c.is_control() { ' ' } else { c });
    let short: String = readable.take(MESSAGE_CHARS).collect();
    // A key that is cut off here would not be found any more, so parts of it count as well.
    let repeats_key = key.is_some_and(|key| repeats(&short, key.expose()));
    if repeats_key || request.texts().into_iter().any(|text| repeats(&short, text)) {
        return String::new();
    }
    shapes::redact_suspects(&short).into_owned()
}

/// Whether a message repeats a piece of a text. Pieces are looked for at every twelfth place, so that
/// any repetition of twice that length holds one of them, and a long text is read a few times only.
fn repeats(message: &str, text: &str) -> bool {
    let chars: Vec<char> = message.chars().collect();
    let whole = text.trim();
    let is_short = (4..ECHO_CHARS * 2).contains(&whole.len());
    (is_short && message.contains(whole))
        || chars
            .chunks_exact(ECHO_CHARS)
            .map(|piece| piece.iter().collect::<String>())
            .filter(|piece| !piece.trim().is_empty())
            .any(|piece| text.contains(&piece))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Turn;

    fn said(told: &Value) -> Said {
        let request = ModelRequest {
            turns: vec![Turn::user("my password is swordfish and nobody knows it")],
            ..ModelRequest::default()
        };
        Said::read(told, &request, Some(&ApiKey::from("canary-key-of-a-strange-shape".to_owned())))
    }

    #[test]
    fn code_and_first_words_are_kept() {
        for (told, code, message) in [
            (
                json!({"error": {"type": "a_type", "code": "a_code", "message": "no"}}),
                "a_code",
                "no",
            ),
            (json!({"error": {"type": "a_type", "code": 429, "message": "no"}}), "a_type", "no"),
            (json!({"type": "error", "error": {"type": "a", "message": "a\nb"}}), "a", "a b"),
            (json!({"object": "error", "message": "no", "code": 400}), "400", "no"),
            (json!({"error": "no"}), "", "no"),
            (json!({"error": {"code": "two words"}}), "", ""),
            (json!([]), "", ""),
            (Value::Null, "", ""),
        ] {
            let said = said(&told);
            assert_eq!((said.code.as_str(), said.message.as_str()), (code, message), "{told}");
        }
        let long = said(&json!({"error": "ä".repeat(500)}));
        assert_eq!(long.message.chars().count(), MESSAGE_CHARS);
    }

    #[test]
    fn what_repeats_the_key_or_the_request_is_left_out() {
        for message in [
            "wrong key canary-key-of-a-strange-shape",
            "wrong key: canary-key-of-a-str",
            "unacceptable: password is swordfish and nobody",
        ] {
            let said = said(&json!({"error": {"code": "c", "message": message}}));
            assert_eq!(said, Said { code: "c".into(), message: String::new() }, "{message}");
        }
        // At every place of the message.
        for shift in 0..40 {
            let message = format!("{}my password is swordfish", "-".repeat(shift));
            assert_eq!(said(&json!({"error": message})).message, "", "{shift}");
        }
        let said = said(&json!({"error": "wrong key sk-abcdefghijklmnopqrstuvwx"}));
        assert_eq!(said.message, "wrong key [redacted]");
    }
}

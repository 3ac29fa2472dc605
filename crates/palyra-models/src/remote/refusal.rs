//! What a provider means by an error.

use palyra_common::time::Duration;
use reqwest::Response;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::parsed;
use crate::error::{Problem, Said, code, message};
use crate::request::ModelRequest;
use crate::secret::ApiKey;

/// How much of an error is looked at.
const ERROR_BYTES: usize = 16 << 10;
/// Who asks for more has made a mistake.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Reads an answer that is an error.
pub(super) async fn read(
    mut response: Response,
    request: &ModelRequest,
    key: Option<&ApiKey>,
) -> Problem {
    let status = response.status().as_u16();
    let retry_after = wait(response.headers());
    let mut text = Vec::new();
    // As far as it comes: the status alone says most of it.
    while let Ok(Some(piece)) = response.chunk().await {
        text.extend_from_slice(&piece);
        if text.len() > ERROR_BYTES {
            text.clear();
            break;
        }
    }
    let told = parsed(&text);
    meaning(status, retry_after, &told, Said::read(&told, request, key))
}

/// An error in the middle of an answer that had begun well.
pub(super) fn in_stream(told: &Value, request: &ModelRequest, key: Option<&ApiKey>) -> Problem {
    let said = Said::read(told, request, key);
    let status = match code(told).as_str() {
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => 429,
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" | "model_not_found" => 404,
        "request_too_large" => 413,
        "invalid_request_error" | "context_length_exceeded" => 400,
        code => code.parse().ok().filter(|status| (400..600).contains(status)).unwrap_or(500),
    };
    meaning(status, None, told, said)
}

fn meaning(status: u16, retry_after: Option<Duration>, told: &Value, said: Said) -> Problem {
    match status {
        // It may say which key it was.
        401 | 403 => Problem::Unauthorized { said: said.code_alone() },
        // Waiting does not fill an account.
        429 if code(told) == "insufficient_quota" => Problem::Refused { status, said },
        429 => Problem::RateLimited { retry_after, said },
        413 => Problem::ContextTooLong { said },
        _ if is_too_long(told) => Problem::ContextTooLong { said },
        404 => Problem::UnknownModel { said },
        408 | 409 | 425 | 500..=599 => Problem::Overloaded { retry_after, said },
        _ => Problem::Refused { status, said },
    }
}

/// Few have a word for it that a program can rely on.
fn is_too_long(told: &Value) -> bool {
    if matches!(code(told).as_str(), "context_length_exceeded" | "exceed_context_size_error") {
        return true;
    }
    let words = message(told).to_lowercase();
    ["prompt is too long", "maximum context length", "context window", "context size"]
        .iter()
        .any(|sign| words.contains(sign))
}

/// `retry-after` in seconds, or more exactly in milliseconds. A date is not understood: what follows
/// from nothing, a growing pause, is right for it as well.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let millis = number("retry-after-ms").or_else(|| number("retry-after").map(|s| s * 1_000.0))?;
    // A cast of what is too large, or not a number, stops at the ends.
    (millis >= 0.0).then(|| Duration::from_millis(millis.ceil() as u64).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use palyra_common::ErrorCode;
    use serde_json::json;

    use super::*;

    fn meant(status: u16, told: &Value) -> ErrorCode {
        let said = Said::read(told, &ModelRequest::default(), None);
        meaning(status, None, told, said).code()
    }

    #[test]
    fn a_status_and_a_word_say_what_is_meant() {
        let error =
            |kind: &str, message: &str| json!({"error": {"type": kind, "message": message}});
        let empty = Value::Null;
        for (status, told, expected) in [
            (401, &empty, ErrorCode::ModelsUnauthorized),
            (403, &empty, ErrorCode::ModelsUnauthorized),
            (404, &empty, ErrorCode::ModelsUnknownModel),
            (408, &empty, ErrorCode::ModelsOverloaded),
            (413, &empty, ErrorCode::ModelsContextTooLong),
            (422, &empty, ErrorCode::ModelsRefused),
            (429, &empty, ErrorCode::ModelsRateLimited),
            (429, &error("insufficient_quota", ""), ErrorCode::ModelsRefused),
            (529, &error("overloaded_error", ""), ErrorCode::ModelsOverloaded),
            (302, &empty, ErrorCode::ModelsRefused),
            (400, &error("x", "Prompt is too long: 9 tokens"), ErrorCode::ModelsContextTooLong),
            (400, &error("context_length_exceeded", ""), ErrorCode::ModelsContextTooLong),
            (500, &error("exceed_context_size_error", ""), ErrorCode::ModelsContextTooLong),
            (400, &error("invalid_request_error", "no"), ErrorCode::ModelsRefused),
        ] {
            assert_eq!(meant(status, told), expected, "{status} {told}");
        }
    }

    #[test]
    fn a_wait_is_read_as_it_is_written() {
        for (name, value, expected) in [
            ("retry-after", "20", Some(20_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "1500", Some(1_500)),
            ("retry-after", "1e300", Some(24 * 3_600_000)),
            ("retry-after", "-1", None),
            ("retry-after", "NaN", None),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(wait(&headers), expected.map(Duration::from_millis), "{value}");
        }
    }
}

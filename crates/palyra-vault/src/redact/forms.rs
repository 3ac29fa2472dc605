//! The shapes in which one value can stand in a text.

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

use super::MIN_VALUE_CHARS;
use crate::key::hex;

/// The value as it is and in every encoding that is looked for, each once. None of a value that is
/// too short.
pub(super) fn of(value: &str) -> Vec<Zeroizing<String>> {
    if value.chars().nth(MIN_VALUE_CHARS - 1).is_none() {
        return Vec::new();
    }
    let quoted = json_escaped(value);
    let mut forms = vec![
        value.to_owned(),
        // As it stands in JSON that is a text of other JSON: an answer that was logged, arguments of a tool.
        json_escaped(&quoted),
        quoted,
        percent_encoded(value, Case::Upper),
        percent_encoded(value, Case::Lower),
        percent_encoded(value, Case::Upper).replace("%20", "+"),
        hex(value.as_bytes()),
        hex(value.as_bytes()).to_uppercase(),
    ];
    for engine in [&STANDARD, &URL_SAFE] {
        let whole = engine.encode(value);
        forms.push(whole.trim_end_matches('=').to_owned());
        forms.push(whole);
        forms.extend((0..3).map(|shift| within_base64(value, shift, engine)));
    }
    forms.retain(|form| form.chars().nth(MIN_VALUE_CHARS - 1).is_some());
    forms.sort();
    forms.dedup();
    forms.into_iter().map(Zeroizing::new).collect()
}

/// What base64 makes of the value after `shift` (modulo 3) other bytes and before any others: the
/// characters that depend on the value alone.
fn within_base64(value: &str, shift: usize, engine: &GeneralPurpose) -> String {
    let bytes = Zeroizing::new([&[0; 2][..shift], value.as_bytes()].concat());
    let text = Zeroizing::new(engine.encode(&*bytes));
    let (first, last) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
    text[first..last].to_owned()
}

fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[derive(Clone, Copy)]
enum Case {
    Upper,
    Lower,
}

fn percent_encoded(value: &str, case: Case) -> String {
    let digits = match case {
        Case::Upper => b"0123456789ABCDEF",
        Case::Lower => b"0123456789abcdef",
    };
    let mut encoded = String::with_capacity(3 * value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => {
                let (high, low) = (digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]);
                encoded.extend(['%', char::from(high), char::from(low)]);
            }
        }
    }
    encoded
}

//! What is taken out of a bundle: what the daemon knows to be secret, then what looks like it.

use palyra_client::{Client, ClientError};
use palyra_common::api::Texts;
use palyra_common::shapes;
use serde_json::Value;

#[cfg(test)]
mod tests;

/// How much the daemon is asked about at once, as JSON: less than the least that it can be told to take,
/// `http.max_body_bytes` of 128 KiB. A text that is longer alone is left out, as a part of it could end in
/// the middle of a secret.
pub(super) const AT_ONCE_BYTES: usize = 120 << 10;

/// Takes the values of the daemon's secrets out of every text.
pub(super) async fn by_value(client: &Client, bundle: &mut Value) -> Result<(), ClientError> {
    let mut texts = Vec::new();
    each(bundle, &mut |text| texts.push(text));
    let mut rest = texts.as_mut_slice();
    while !rest.is_empty() {
        let (some, others) = rest.split_at_mut(fitting(rest));
        let asked = Texts { texts: some.iter().map(|text| text.as_str().to_owned()).collect() };
        let redacted = client.redact(&asked).await?.texts;
        for (text, redacted) in some.iter_mut().zip(redacted) {
            **text = redacted;
        }
        rest = others;
    }
    Ok(())
}

/// Takes out what could be a secret, and what is too long to be asked about.
pub(super) fn by_shape(bundle: &mut Value) {
    each(bundle, &mut |text| *text = shapes::redact_suspects(text).into_owned());
}

/// Leaves out texts that are too long to be asked about.
pub(super) fn shorten(bundle: &mut Value) {
    each(bundle, &mut |text| {
        if asked_bytes(text) > AT_ONCE_BYTES {
            *text = format!("[left out: {} bytes]", text.len());
        }
    });
}

/// How many of the first texts are asked about at once.
fn fitting(texts: &[&mut String]) -> usize {
    let mut bytes = 0;
    let within = texts.iter().take_while(|text| {
        bytes += asked_bytes(text);
        bytes <= AT_ONCE_BYTES
    });
    within.count().max(1)
}

/// How long a text is in a question, in which it stands in quotation marks and before a comma.
pub(super) fn asked_bytes(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |quoted| quoted.len() + 1)
}

fn each<'a>(value: &'a mut Value, see: &mut impl FnMut(&'a mut String)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, see)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each(field, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

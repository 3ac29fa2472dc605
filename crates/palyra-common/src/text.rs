//! What is done to text as it enters the system, how a shell reads it, and what a mistyped word was
//! to be.

use std::borrow::Cow;

use serde_json::Value;

mod quotations;
#[cfg(test)]
mod tests;

pub use quotations::without_quotations;

/// Removes every U+0000 from `text`.
///
/// Postgres refuses the character in text columns while SQLite stores it, so text that keeps it
/// would be accepted by one engine and rejected by the other.
pub fn strip_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// Shows every text of a value, and every name in it, to whoever may change it.
pub fn each_in(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_in(item, change)),
        Value::Object(map) => {
            for (mut name, mut value) in std::mem::take(map) {
                change(&mut name);
                each_in(&mut value, change);
                map.insert(name, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `word` as a shell reads it as one word.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@,=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// The one of `known` that is nearest to `word`, if any is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &str| strsim::damerau_levenshtein(word, known);
    let nearest = known.into_iter().min_by_key(|known| distance(known))?;
    // Further away it is a guess that only misleads.
    (distance(nearest) <= word.len() / 2).then_some(nearest)
}

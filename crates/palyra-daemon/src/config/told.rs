//! What is wrong with a configuration file, told without its content.

use std::ops::Range;

use palyra_common::text::without_quotations;

/// Where the mistake is and what is wrong. What is written there may be a password, so it is left
/// out, also where serde quotes it.
pub(super) fn mistake(text: &str, error: &toml::de::Error) -> String {
    placed(text, error.message(), error.span())
}

/// The same of a file that is to be changed.
pub(super) fn unreadable(text: &str, error: &toml_edit::TomlError) -> String {
    placed(text, error.message(), error.span())
}

fn placed(text: &str, message: &str, span: Option<Range<usize>>) -> String {
    let what = plain_words(&without_quotations(&message.replace("`\"`", "a quote")));
    match span {
        Some(span) => format!("{}: {what}", place(text, &span)),
        None => what,
    }
}

/// The names of Rust's types say nothing to whoever writes a configuration.
pub(super) fn plain_words(what: &str) -> String {
    let words = what.split(' ').map(|word| match word.trim_end_matches(',') {
        "u8" | "u16" | "u32" | "u64" | "i64" | "usize" => "a whole number",
        "struct" => "a section,",
        section if section.ends_with("Config") => "as in [name]",
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `line 2, column 9`.
pub(super) fn place(text: &str, span: &Range<usize>) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
    format!("line {line}, column {column}")
}

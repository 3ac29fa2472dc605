//! What credentials look like, for those that are not in the vault.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

/// What stands in the place of what was found.
const LABEL: &str = "[redacted]";

/// Each with a group `v` for what is replaced; without one, all of it is.
const SHAPES: &[&str] = &[
    // Tokens of Palyra.
    r"(?-u:\b)ply_[A-Za-z0-9_-]{32,}",
    // Discord: the id of the bot, a time and a MAC.
    r"(?-u:\b)[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",
    // OpenAI, Anthropic and those who follow them.
    r"(?-u:\b)sk-[A-Za-z0-9_-]{20,}",
    // GitHub.
    r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    // AWS: key ids have a shape, keys only a name before them.
    r"(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
    r#"(?i-u)aws_?secret_?(?:access_?)?key["']?\s{0,4}[=:]\s{0,4}["']?(?<v>[a-z0-9/+]{40})"#,
    r"(?i-u)\b(?:bearer|basic)[ \t]+(?<v>[a-z0-9._~+/-]{16,}=*)",
    // Also escaped in JSON, and cut off before its end.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-[^-])*-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{40,})+",
    // Passwords in addresses.
    r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:(?<v>[^\s/@]+)@",
];

static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |shape: &&str| Regex::new(shape).expect("the shapes above are valid");
    SHAPES.iter().map(compile).collect()
});

static ANY: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(SHAPES).expect("the shapes above are valid"));

pub(super) fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    // One pass over the text tells which shapes are in it; mostly none is.
    for shape in &ANY.matches(&text) {
        text = Cow::Owned(EACH[shape].replace_all(&text, replacement).into_owned());
    }
    text
}

fn replacement(found: &Captures<'_>) -> String {
    let whole = found.get_match();
    let value = found.name("v").map_or(whole.range(), |value| value.range());
    // What the table has put there is no secret.
    if found.name("v").is_some_and(|value| value.as_str().starts_with("[redacted")) {
        return whole.as_str().to_owned();
    }
    let (start, end) = (value.start - whole.start(), value.end - whole.start());
    let whole = whole.as_str();
    format!("{}{LABEL}{}", &whole[..start], &whole[end..])
}

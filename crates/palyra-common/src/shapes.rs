//! What credentials look like, for those whose value nobody knows.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

#[cfg(test)]
mod tests;

/// What stands in the place of what was found.
const LABEL: &str = "[redacted]";

/// What can hardly be anything else. Each with a group `v` for what is replaced; without one, all of
/// it is.
const CREDENTIALS: &[&str] = &[
    // Tokens of Palyra.
    r"(?-u:\b)ply_[A-Za-z0-9_-]{32,}",
    // Discord: the id of the bot, a time and a MAC.
    r"(?-u:\b)[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",
    // OpenAI, Anthropic and those who follow them.
    r"(?-u:\b)sk-[A-Za-z0-9_-]{20,}",
    // GitHub, GitLab, Slack, Google.
    r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}",
    r"(?-u:\b)xox[a-z]-[A-Za-z0-9-]{10,}",
    r"(?-u:\b)AIza[A-Za-z0-9_-]{30,}",
    // AWS: key ids have a shape, keys only a name before them.
    r"(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
    r#"(?i-u)aws_?secret_?(?:access_?)?key["']?\s{0,4}[=:]\s{0,4}["']?(?<v>[a-z0-9/+]{40})"#,
    // JSON web tokens.
    r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?i-u)\b(?:bearer|basic)[ \t]+(?<v>[a-z0-9._~+/-]{16,}=*)",
    // Also escaped in JSON, and cut off before its end.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^-]|-[^-])*-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{40,})+",
    // Passwords in addresses, which may hold an @ themselves.
    r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:(?<v>[^\s/]+)@",
];

/// What is called like one, or resembles one. Too much for a log that has to tell which token was
/// revoked; right for what is handed on to strangers.
const SUSPECTS: &[&str] = &[
    r"ply_[A-Za-z0-9_-]{8,}",
    r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}",
    r"(?-u:\b)(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{16,}",
    r"(?-u:\b)[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*",
    r"(?i-u)\b(?:bearer|basic)\s+(?<v>[a-z0-9+/=._~-]{8,})",
    r"[?&](?i-u:code|token|key|secret|password|signature|sig)=(?<v>[^\s&#]+)",
    r#"(?i-u:password|passphrase|passwd|secret|api[_-]?key|access[_-]?key|token|pwd)\s*[=:]\s*"?(?<v>[^\s",}&]+)"#,
];

/// Options of the configuration that hold no password, whatever their value looks like: modules
/// and files may be called after one.
const WITHOUT_PASSWORD: &[&str] = &["log.level", "vault.key_file", "vault.passphrase_file"];

struct Shapes {
    each: Vec<Regex>,
    any: RegexSet,
}

static STRICT: LazyLock<Shapes> = LazyLock::new(|| Shapes::new(CREDENTIALS));
static WIDE: LazyLock<Shapes> = LazyLock::new(|| Shapes::new(SUSPECTS));

/// `text` without what can hardly be anything but a credential. Borrowed if there was none.
pub fn redact(text: &str) -> Cow<'_, str> {
    STRICT.redact(Cow::Borrowed(text))
}

/// How many bytes at the end of `text` may be the beginning of a credential: the last word, as none
/// has blanks or letters beyond ASCII, or all of a private key that has no end yet.
pub fn open_end(text: &str) -> usize {
    let word = text.bytes().rev().take_while(u8::is_ascii_graphic).count();
    let key = text.rfind("-----BEGIN ").map(|at| &text[at..]);
    key.filter(|key| !key.contains("-----END ")).map_or(0, str::len).max(word)
}

/// `text` without anything that could be a credential, at the price of some innocent words.
pub fn redact_suspects(text: &str) -> Cow<'_, str> {
    WIDE.redact(redact(text))
}

/// Whether `value` could hold a password as the value of the option `key`. Of an option that nobody
/// has thought of it could.
pub fn could_hold_password(key: &str, value: &str) -> bool {
    !WITHOUT_PASSWORD.contains(&key) && redact_suspects(value) != value
}

impl Shapes {
    fn new(shapes: &[&str]) -> Self {
        let compile = |shape: &&str| Regex::new(shape).expect("the shapes above are valid");
        let any = RegexSet::new(shapes).expect("the shapes above are valid");
        Self { each: shapes.iter().map(compile).collect(), any }
    }

    fn redact<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        let mut text = text;
        // One pass over the text tells which shapes are in it; mostly none is.
        for shape in &self.any.matches(&text) {
            text = Cow::Owned(self.each[shape].replace_all(&text, replacement).into_owned());
        }
        text
    }
}

fn replacement(found: &Captures<'_>) -> String {
    let whole = found.get_match();
    let value = found.name("v").map_or(whole.range(), |value| value.range());
    // What was put there before is no secret.
    if found.name("v").is_some_and(|value| value.as_str().starts_with("[redacted")) {
        return whole.as_str().to_owned();
    }
    let (start, end) = (value.start - whole.start(), value.end - whole.start());
    let whole = whole.as_str();
    format!("{}{LABEL}{}", &whole[..start], &whole[end..])
}

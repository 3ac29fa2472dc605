//! `palyra.toml`. Every option is in `docs/palyra.example.toml`, with its default.

use std::path::Path;

use palyra_storage::StorageConfig;
use serde::Deserialize;

use crate::failure::Failure;
use crate::flags::Flags;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Where data is kept.
    pub(crate) storage: StorageConfig,
}

/// Defaults, then the file, then the environment and the command line.
pub(crate) fn load(flags: &Flags, data_dir: &Path) -> Result<Config, Failure> {
    let in_data_dir = data_dir.join("palyra.toml");
    let mut config = match &flags.config {
        Some(path) => read(path)?,
        None if in_data_dir.exists() => read(&in_data_dir)?,
        None => Config::default(),
    };
    if let Some(url) = &flags.storage_url {
        config.storage.url = url.clone();
    }
    config.storage.check().map_err(|error| Failure::Refused { error })?;
    Ok(config)
}

fn read(path: &Path) -> Result<Config, Failure> {
    let wrong = |what: String| Failure::Config { path: path.to_owned(), what };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    toml::from_str(&text).map_err(|error| wrong(told(&text, &error)))
}

/// Where the mistake is and what is wrong. What is written there may be a password, so it is left
/// out, also where serde quotes it.
fn told(text: &str, error: &toml::de::Error) -> String {
    let what = without_quotations(error.message());
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return what;
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
    format!("line {line}, column {column}: {what}")
}

/// The message on one line, with `"…"` for every text between quotes.
fn without_quotations(message: &str) -> String {
    let (mut kept, mut quoted, mut escaped) = (String::new(), false, false);
    for char in message.chars() {
        match char {
            '"' if !escaped => {
                kept.push_str(if quoted { "…\"" } else { "\"" });
                quoted = !quoted;
            }
            '\n' if !quoted => kept.push_str(", "),
            _ if !quoted => kept.push(char),
            _ => {}
        }
        escaped = quoted && char == '\\' && !escaped;
    }
    kept
}

#[cfg(test)]
mod tests;

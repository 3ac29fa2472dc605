//! Reads the commented example of the configuration.

use std::sync::LazyLock;

use regex::Regex;

/// A key that the example shows, set or commented out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// Every key with the section it stands in. `# key = …` and `# [section]` count like the real ones;
/// any other comment is prose.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    static SECTION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:#\s*)?\[{1,2}([A-Za-z0-9_.\x22-]+)\]{1,2}\s*(?:#.*)?$")
            .expect("the pattern is valid")
    });
    static KEY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:#\s*)?([A-Za-z0-9_.-]+)\s*=\s*\S").expect("the pattern is valid")
    });
    let mut section = Vec::new();
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = SECTION.captures(line) {
            section = split(&header[1]);
        } else if let Some(key) = KEY.captures(line) {
            let path = section.iter().cloned().chain(split(&key[1])).collect();
            found.push(Entry { path, line: at + 1 });
        }
    }
    found
}

fn split(path: &str) -> Vec<String> {
    path.split('.').map(|part| part.trim_matches('"').to_owned()).collect()
}

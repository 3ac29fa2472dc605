//! Every error code that a user can meet is explained in `docs/errors.md`, and nothing else is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::model::{Violation, Workspace};

pub(crate) const RULE: &str = "error codes";

const DOCS: &str = "docs/errors.md";

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let documented = documented(workspace.text(DOCS).unwrap_or_default());
    let registered = &workspace.error_codes;
    let missing =
        registered.iter().filter(|code| !documented.contains_key(code.as_str())).map(|code| {
            let fix = "run cargo xtask codegen, or write the row";
            Violation::new(RULE, DOCS, format!("does not explain {code}"), fix)
        });
    let unknown = documented
        .iter()
        .filter(|(code, _)| !registered.iter().any(|known| known == **code))
        .map(|(code, line)| {
            let what = format!("explains {code}, which is not in the registry of palyra-common");
            let fix = "register the code or remove its entry";
            Violation::new(RULE, DOCS, what, fix).at(*line)
        });
    missing.chain(unknown).collect()
}

/// The codes that have a heading or a table row of their own, with the line it stands on.
fn documented(text: &str) -> BTreeMap<&str, usize> {
    static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:#{1,6}|\|)\s*`([a-z0-9_.]+/[a-z0-9_./]+)`").expect("the pattern is valid")
    });
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(at, line)| {
            let entry = ENTRY.captures(line)?;
            entry.get(1).map(|code| (code.as_str(), at + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests;

//! Names of tools as providers take them: letters, digits, `_` and `-`, at most 64.

use std::collections::{BTreeMap, BTreeSet};

use crate::request::{ModelRequest, Turn};

#[cfg(test)]
mod tests;

const MOST: usize = 64;

/// The names of one request, ours and the provider's, one to one.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    sent: BTreeMap<String, String>,
    ours: BTreeMap<String, String>,
}

impl ToolNames {
    /// For all tools that are offered and those that were called before.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let offered = request.tools.iter().map(|tool| tool.name.as_str());
        let called = request.turns.iter().filter_map(|turn| match turn {
            Turn::Assistant { calls, .. } => Some(calls.iter().map(|call| call.name.as_str())),
            Turn::User { .. } | Turn::ToolResults { .. } => None,
        });
        Self::from_names(offered.chain(called.flatten()))
    }

    /// By their set alone, so that the next request of a conversation says the same.
    fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: BTreeSet<&str> = names.collect();
        let (fit, other): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| fits(name));
        let mut made = Self::default();
        // Whoever has a name that can be sent keeps it.
        for name in fit {
            made.put(name, name.to_owned());
        }
        for name in other {
            let plain = safe(name);
            let numbered = (2_u32..).map(|number| {
                let end = format!("_{number}");
                let start: String = plain.chars().take(MOST - end.len()).collect();
                start + &end
            });
            let free = |candidate: &String| !made.ours.contains_key(candidate);
            let found = [plain.clone()].into_iter().chain(numbered).find(free);
            made.put(name, found.unwrap_or_default());
        }
        made
    }

    fn put(&mut self, name: &str, sent: String) {
        self.ours.insert(sent.clone(), name.to_owned());
        self.sent.insert(name.to_owned(), sent);
    }

    /// What the provider is told.
    pub(crate) fn sent<'a>(&'a self, name: &'a str) -> &'a str {
        self.sent.get(name).map_or(name, String::as_str)
    }

    /// What was meant by what the model says; as it is where nothing was.
    pub(crate) fn ours(&self, said: String) -> String {
        self.ours.get(&said).cloned().unwrap_or(said)
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn fits(name: &str) -> bool {
    (1..=MOST).contains(&name.len()) && name.chars().all(is_allowed)
}

/// What providers are told in place of a name of ours that they do not take.
pub fn provider_name(name: &str) -> String {
    safe(name)
}

fn safe(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(MOST).collect();
    if safe.is_empty() { "_".into() } else { safe }
}

//! The values, and where they stand in a text.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use zeroize::Zeroizing;

use super::{MIN_VALUE_CHARS, forms};
use crate::name::SecretName;
use crate::secret::SecretString;

/// The automaton holds only so much of a form; the rest is compared. So a value of 64 KiB costs no
/// more than a short one.
const ANCHOR: usize = 64;

/// What stands in the place of a value where even the words `[redacted]` would spell one. Shorter
/// than any value.
const BLANK: &str = "***";

/// Every form of every value. The forms are wiped when the table is dropped; what the automaton
/// keeps of them cannot be.
#[derive(Default)]
pub(super) struct Table {
    automaton: Option<AhoCorasick>,
    /// In the order of the automaton's patterns.
    forms: Vec<Form>,
    labels: Vec<String>,
}

struct Form {
    text: Zeroizing<String>,
    /// Which of the labels.
    label: usize,
}

/// A stretch of text to be replaced.
struct Found {
    at: Range<usize>,
    label: usize,
}

impl Table {
    pub(super) fn new<'a>(values: impl Iterator<Item = &'a (SecretName, SecretString)>) -> Self {
        let (mut all, mut labels) = (Vec::new(), Vec::new());
        for (name, value) in values {
            if value.expose().chars().count() < MIN_VALUE_CHARS {
                continue;
            }
            let label = labels.len();
            labels.push(format!("[redacted:{name}]"));
            all.extend(forms::of(value.expose()).into_iter().map(|text| Form { text, label }));
        }
        let anchors = all.iter().map(|form: &Form| anchor(&form.text));
        let automaton = match AhoCorasick::new(anchors) {
            Ok(automaton) if !all.is_empty() => Some(automaton),
            Ok(_) => None,
            // Billions of bytes of secrets; the vault's limits are far below.
            Err(error) => {
                tracing::error!(%error, "there are too many secrets to look for");
                None
            }
        };
        let mut table = Self { automaton, forms: all, labels };
        table.choose_labels();
        table
    }

    /// A label must not spell a value, such as one that is called like its scope.
    fn choose_labels(&mut self) {
        let choose = |label: &String| {
            let choices = [label.as_str(), "[redacted]"];
            let silent = choices.into_iter().find(|choice| self.find(choice).is_empty());
            silent.unwrap_or(BLANK).to_owned()
        };
        self.labels = self.labels.iter().map(choose).collect();
    }

    pub(super) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut redacted = self.replaced(text, &found, |found| &self.labels[found.label]);
        // A value can come to stand across the end of a label. What replaces it then is shorter
        // than it, so this ends.
        loop {
            let found = self.find(&redacted);
            if found.is_empty() {
                return Cow::Owned(redacted);
            }
            redacted = self.replaced(&redacted, &found, |_| BLANK);
        }
    }

    /// Where values stand, from left to right, without overlaps.
    fn find(&self, text: &str) -> Vec<Found> {
        let Some(automaton) = &self.automaton else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for hit in automaton.find_overlapping_iter(text) {
            let form = &self.forms[hit.pattern().as_usize()];
            if text[hit.start()..].starts_with(form.text.as_str()) {
                let at = hit.start()..hit.start() + form.text.len();
                all.push(Found { at, label: form.label });
            }
        }
        merged(all)
    }

    fn replaced<'a>(
        &'a self,
        text: &str,
        found: &[Found],
        label: impl Fn(&Found) -> &'a str,
    ) -> String {
        let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
        for found in found {
            kept.push_str(&text[from..found.at.start]);
            kept.push_str(label(found));
            from = found.at.end;
        }
        kept.push_str(&text[from..]);
        kept
    }
}

/// Joins what overlaps. The name of the longest part stands for all of it.
fn merged(mut all: Vec<Found>) -> Vec<Found> {
    all.sort_by_key(|found| (found.at.start, std::cmp::Reverse(found.at.end)));
    let mut joined: Vec<(Found, usize)> = Vec::new();
    for found in all {
        let length = found.at.len();
        match joined.last_mut() {
            Some((last, longest)) if found.at.start < last.at.end => {
                last.at.end = last.at.end.max(found.at.end);
                if length > *longest {
                    (last.label, *longest) = (found.label, length);
                }
            }
            Some(_) | None => joined.push((found, length)),
        }
    }
    joined.into_iter().map(|(found, _)| found).collect()
}

/// The beginning of a form, up to the end of a character.
fn anchor(form: &str) -> &str {
    let end = (0..=ANCHOR.min(form.len())).rev().find(|end| form.is_char_boundary(*end));
    &form[..end.unwrap_or(form.len())]
}

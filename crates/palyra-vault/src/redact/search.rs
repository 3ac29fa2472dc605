//! Where values stand in a text, and what takes their place.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::table::Table;
use super::value::Value;

/// What stands in the place of a value where even the words `[redacted]` would spell one. Shorter
/// than any value.
const BLANK: &str = "***";

/// So many places are remembered before those that overlap are joined: in a text that repeats one
/// letter, a value that does the same stands everywhere.
const MANY: usize = 4_096;

/// A stretch of text to be replaced.
pub(super) struct Found<'t> {
    pub(super) at: Range<usize>,
    pub(super) value: &'t Arc<Value>,
    /// How long that value is, of those that were joined.
    pub(super) longest: usize,
}

/// All tables, for one text.
pub(super) struct Search<'t> {
    tables: &'t [Arc<Table>],
}

impl<'t> Search<'t> {
    pub(super) fn new(tables: &'t [Arc<Table>]) -> Self {
        Self { tables }
    }

    pub(super) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut labels = HashMap::new();
        for found in &found {
            labels.entry(Arc::as_ptr(found.value)).or_insert_with(|| self.label(found.value));
        }
        let label = |found: &Found<'t>| labels.get(&Arc::as_ptr(found.value)).copied();
        let mut redacted = replaced(text, &found, |found| label(found).unwrap_or(BLANK));
        // A value can come to stand across the end of a label. What replaces it then is shorter
        // than it, so this ends.
        loop {
            let found = self.find(&redacted);
            if found.is_empty() {
                return Cow::Owned(redacted);
            }
            redacted = replaced(&redacted, &found, |_| BLANK);
        }
    }

    /// `cut`, or where the value begins that it would cut through.
    pub(super) fn cut_before(&self, text: &str, cut: usize) -> usize {
        let mut found = self.find(text).into_iter().map(|found| found.at);
        let through = found.find(|at| at.start < cut && cut < at.end);
        through.map_or(cut, |at| at.start)
    }

    /// A label must not spell a value, such as one that is called like its scope.
    fn label(&self, value: &'t Value) -> &'t str {
        let choices = [value.label.as_str(), "[redacted]"];
        choices.into_iter().find(|choice| self.find(choice).is_empty()).unwrap_or(BLANK)
    }

    /// Where values stand, from left to right, without overlaps.
    fn find(&self, text: &str) -> Vec<Found<'t>> {
        let mut all = Vec::new();
        for table in self.tables {
            table.find(text.as_bytes(), |found| {
                all.push(found);
                if all.len() % MANY == 0 {
                    all = joined(std::mem::take(&mut all));
                }
            });
        }
        joined(all)
    }
}

fn replaced<'l, 't>(
    text: &str,
    found: &[Found<'t>],
    label: impl Fn(&Found<'t>) -> &'l str,
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

/// Joins what overlaps. The name of the longest part stands for all of it.
fn joined(mut all: Vec<Found<'_>>) -> Vec<Found<'_>> {
    all.sort_by_key(|found| (found.at.start, std::cmp::Reverse(found.at.end)));
    let mut joined: Vec<Found<'_>> = Vec::new();
    for found in all {
        match joined.last_mut() {
            Some(last) if found.at.start < last.at.end => {
                last.at.end = last.at.end.max(found.at.end);
                if found.longest > last.longest {
                    (last.value, last.longest) = (found.value, found.longest);
                }
            }
            Some(_) | None => joined.push(found),
        }
    }
    joined
}

//! Values that are looked for together.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::search::Found;
use super::value::Value;

/// A table is made anew when one of so many values, or more, is not looked for any more.
const WORN_BY: usize = 4;

/// Some values and what finds them in one pass.
pub(super) struct Table {
    values: Vec<Arc<Value>>,
    automaton: Option<AhoCorasick>,
    /// In the order of the automaton's patterns: which value, and which form of it.
    patterns: Vec<(usize, usize)>,
}

impl Table {
    pub(super) fn new(mut values: Vec<Arc<Value>>) -> Self {
        values.retain(|value| !value.forms.is_empty());
        let all = values.iter().enumerate();
        let patterns =
            all.flat_map(|(at, value)| (0..value.forms.len()).map(move |form| (at, form)));
        let patterns: Vec<_> = patterns.collect();
        let anchors = patterns.iter().map(|(at, form)| values[*at].forms[*form].anchor());
        // Quick to make; the kinds that are quicker in use are not.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = match AhoCorasick::builder().kind(kind).prefilter(false).build(anchors) {
            Ok(automaton) if !patterns.is_empty() => Some(automaton),
            Ok(_) => None,
            // Billions of bytes of secrets; the vault's limits are far below.
            Err(error) => {
                tracing::error!(%error, "there are too many secrets to look for");
                None
            }
        };
        Self { values, automaton, patterns }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values that are looked for.
    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.values.iter().filter(|value| !value.is_gone())
    }

    /// Calls `see` for each place where a value stands.
    pub(super) fn find<'t>(&'t self, text: &[u8], mut see: impl FnMut(Found<'t>)) {
        let Some(automaton) = &self.automaton else { return };
        for hit in automaton.find_overlapping_iter(text) {
            let (at, form) = self.patterns[hit.pattern().as_usize()];
            let value = &self.values[at];
            if let Some(at) = value.forms[form].around(text, hit.start())
                && !value.is_gone()
            {
                see(Found { longest: at.len(), at, value });
            }
        }
    }

    fn is_worn(&self) -> bool {
        let gone = self.values.len() - self.live().count();
        gone > 0 && gone * WORN_BY >= self.values.len()
    }
}

/// Which tables to make one of: a worn one, or the last ones, if those before are no larger than
/// those after.
pub(super) fn to_join(tables: &[Arc<Table>]) -> Option<Range<usize>> {
    if let Some(worn) = tables.iter().position(|table| table.is_worn()) {
        return Some(worn..worn + 1);
    }
    let (mut from, mut size) = (tables.len(), 0);
    while from > 0 && (size == 0 || tables[from - 1].values.len() <= size) {
        from -= 1;
        size += tables[from].values.len();
    }
    (tables.len() - from > 1).then_some(from..tables.len())
}

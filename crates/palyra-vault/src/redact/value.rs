//! A value, as far as it is compared.

use std::sync::atomic::{AtomicBool, Ordering};

use zeroize::Zeroizing;

use super::forms;
use crate::name::SecretName;
use crate::secret::SecretString;

/// Of a form that is more than twice as long only so much of both ends is compared: a text with both
/// at the right distance holds the value, or all but the value. So a value of 64 KiB costs no more
/// than a short one, however often a text begins like it.
const END: usize = 128;

/// What the automaton looks for. Not the beginning: keys and tokens of one kind begin alike.
const ANCHOR: usize = 32;

/// A value in every form.
pub(super) struct Value {
    pub(super) label: String,
    pub(super) forms: Vec<Form>,
    gone: AtomicBool,
}

/// One form of a value. Wiped when it is dropped; what an automaton keeps of it cannot be.
pub(super) struct Form {
    bytes: usize,
    head: Zeroizing<Vec<u8>>,
    /// Empty if the head is all of it.
    tail: Zeroizing<Vec<u8>>,
    anchor_at: usize,
}

impl Value {
    pub(super) fn new(name: &SecretName, value: &SecretString) -> Self {
        let forms = forms::of(value.expose()).iter().map(|form| Form::new(form)).collect();
        Self { label: format!("[redacted:{name}]"), forms, gone: AtomicBool::new(false) }
    }

    /// One that is never found.
    pub(super) fn unreadable() -> Self {
        Self { label: String::new(), forms: Vec::new(), gone: AtomicBool::new(false) }
    }

    /// It is not looked for any more.
    pub(super) fn forget(&self) {
        self.gone.store(true, Ordering::Release);
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

impl Form {
    fn new(form: &str) -> Self {
        let form = form.as_bytes();
        let (head, tail, anchor_at) = if form.len() <= 2 * END {
            (form, &form[form.len()..], form.len().saturating_sub(ANCHOR) / 2)
        } else {
            (&form[..END], &form[form.len() - END..], END - ANCHOR)
        };
        let (head, tail) = (Zeroizing::new(head.to_vec()), Zeroizing::new(tail.to_vec()));
        Self { bytes: form.len(), head, tail, anchor_at }
    }

    pub(super) fn anchor(&self) -> &[u8] {
        let end = self.head.len().min(self.anchor_at + ANCHOR);
        &self.head[self.anchor_at..end]
    }

    /// Where the form stands in `text`, if it does where its anchor is found. As both are UTF-8, it
    /// begins and ends between characters.
    pub(super) fn around(
        &self,
        text: &[u8],
        anchor_found: usize,
    ) -> Option<std::ops::Range<usize>> {
        let start = anchor_found.checked_sub(self.anchor_at)?;
        let there = text.get(start..start + self.bytes)?;
        let same = there.starts_with(&self.head) && there.ends_with(&self.tail);
        same.then_some(start..start + self.bytes)
    }

    /// How many bytes at the end of `text` may be the beginning of this form: the most that begin
    /// like it, of fewer bytes than it has.
    pub(super) fn open_end(&self, text: &[u8]) -> usize {
        let begins = |end: &[u8]| {
            let same = end.len().min(self.head.len());
            end[..same] == self.head[..same]
        };
        let from = text.len().saturating_sub(self.bytes.saturating_sub(1));
        let ends = (from..text.len()).filter(|at| text[*at] == self.head[0]);
        ends.map(|at| &text[at..]).find(|end| begins(end)).map_or(0, <[u8]>::len)
    }
}

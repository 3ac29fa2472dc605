//! Taking secrets out of texts.
//!
//! A [`Redactor`] replaces exactly the value, by `[redacted:scope/name]` or, where only its shape
//! gives it away, by `[redacted]`. The sentence around it stays.

mod forms;
mod shapes;
mod table;
mod writer;

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

pub use writer::RedactingWriter;

use crate::name::SecretName;
use crate::secret::SecretString;
use table::Table;

#[cfg(test)]
mod tests;

/// Shorter values are not looked for: `admin` or `1234` stand in too many innocent texts.
pub const MIN_VALUE_CHARS: usize = 6;

/// How many values that were set, but not loaded yet, are remembered.
const MAX_LEARNED: usize = 64;

/// Takes secrets out of texts. Cheap to clone; all clones know the same secrets.
///
/// It looks for values as they are, in base64 (also as part of a longer text, as in basic
/// authentication), in hex, URL-encoded and JSON-escaped; values of fewer than six characters are
/// not looked for. Beside the vault's values it knows what many credentials look like.
///
/// It holds the values in memory, in the clear, for as long as they are in the vault: what finds
/// them must have them. So it has no `Debug`, and its table is made nowhere else.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    table: Arc<Table>,
    values: Vec<(SecretName, SecretString)>,
    /// Set on this node, and perhaps not in the vault at the last look.
    learned: Vec<(SecretName, SecretString)>,
}

impl Redactor {
    /// One that knows only shapes, until a vault tells it more.
    pub fn new() -> Self {
        Self::default()
    }

    /// `text` without secrets. Borrowed if there was none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner).table.clone();
        match table.redact(text) {
            Cow::Borrowed(text) => shapes::redact(text),
            Cow::Owned(text) => match shapes::redact(&text) {
                Cow::Borrowed(_) => Cow::Owned(text),
                Cow::Owned(text) => Cow::Owned(text),
            },
        }
    }

    /// Looks for this value from now on, until a later [`Redactor::replace`] knows of it.
    pub(crate) fn learn(&self, name: &SecretName, value: &SecretString) {
        self.change(|state| {
            state.learned.push((name.clone(), value.clone()));
            let surplus = state.learned.len().saturating_sub(MAX_LEARNED);
            state.learned.drain(..surplus);
        });
    }

    /// Looks for these values from now on, and for those just learnt.
    pub(crate) fn replace(&self, values: Vec<(SecretName, SecretString)>) {
        self.change(|state| {
            state.learned.retain(|(name, value)| {
                let known = |(other, of): &(SecretName, SecretString)| {
                    other == name && of.expose() == value.expose()
                };
                !values.iter().any(known)
            });
            state.values = values;
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.table = Arc::new(Table::new(state.values.iter().chain(&state.learned)));
    }
}

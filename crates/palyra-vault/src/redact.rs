//! Taking secrets out of texts.
//!
//! A [`Redactor`] replaces exactly the value, by `[redacted:scope/name]` or, where only its shape
//! gives it away, by `[redacted]`. The sentence around it stays.

mod forms;
mod search;
mod table;
mod value;
mod writer;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};

pub use writer::RedactingWriter;

use palyra_common::shapes;

use crate::name::SecretName;
use crate::secret::SecretString;
use search::Search;
use table::Table;
use value::Value;

#[cfg(test)]
mod tests;

/// Shorter values are not looked for: `admin` or `1234` stand in too many innocent texts.
pub const MIN_VALUE_CHARS: usize = 6;

/// How many values that were given to the vault, and perhaps never stored, are remembered.
const MAX_UNSETTLED: usize = 64;

/// Takes secrets out of texts. Cheap to clone; all clones know the same secrets.
///
/// It looks for values as they are, in base64 (also as part of a longer text, as in basic
/// authentication), in hex, URL-encoded and JSON-escaped; values of fewer than six characters are
/// not looked for. Of a long value only its length, beginning and end are compared. Beside the
/// vault's values it knows what many credentials look like.
///
/// What it compares it holds in memory, in the clear, for as long as it is in the vault and a while
/// longer: what finds values must have them. So it has no `Debug`, and its tables are made nowhere
/// else.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: RwLock<State>,
    /// Held by the one that joins tables.
    joining: Mutex<()>,
}

/// Which version of a secret: what its key is locked with, which no other version has.
pub(crate) type Mark = Vec<u8>;

#[derive(Default)]
struct State {
    /// New ones come at the end; only whoever joins takes any away. Exchanged as a whole, so that
    /// nobody who redacts holds the lock.
    tables: Arc<Vec<Arc<Table>>>,
    /// What is in the vault.
    known: HashMap<Mark, Arc<Value>>,
    /// What was given to the vault and is not known to be in it.
    unsettled: VecDeque<Arc<Value>>,
}

/// A [`Redactor`] as it was at one moment. It takes no lock. Cheap to clone.
#[derive(Clone)]
pub struct Redaction(Arc<Vec<Arc<Table>>>);

impl Redaction {
    /// `text` without secrets. Borrowed if there was none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match Search::new(&self.0).redact(text) {
            Cow::Borrowed(text) => shapes::redact(text),
            Cow::Owned(text) => match shapes::redact(&text) {
                Cow::Borrowed(_) => Cow::Owned(text),
                Cow::Owned(text) => Cow::Owned(text),
            },
        }
    }
}

impl Redaction {
    /// How many bytes at the end of `text` may be the beginning of a secret.
    pub fn open_end(&self, text: &str) -> usize {
        let forms = self.0.iter().flat_map(|table| table.live()).flat_map(|value| &value.forms);
        let value = forms.map(|form| form.open_end(text.as_bytes())).max();
        let open = value.unwrap_or(0).max(shapes::open_end(text));
        text.len() - Search::new(&self.0).cut_before(text, text.len() - open)
    }
}

/// A value on its way into the vault. It is looked for already.
pub(crate) struct Learnt {
    redactor: Redactor,
    value: Arc<Value>,
    mark: Option<Mark>,
}

impl Redactor {
    /// One that knows only shapes, until a vault tells it more.
    pub fn new() -> Self {
        Self::default()
    }

    /// `text` without secrets. Borrowed if there was none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.snapshot().redact(text)
    }

    /// What is looked for now. It learns of no new secret; one that goes is not looked for any more.
    pub fn snapshot(&self) -> Redaction {
        Redaction(self.0.state.read().unwrap_or_else(PoisonError::into_inner).tables.clone())
    }

    /// The same for every text in `value`.
    pub fn redact_json(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => {
                if let Cow::Owned(redacted) = self.redact(text) {
                    *text = redacted;
                }
            }
            serde_json::Value::Array(items) => {
                items.iter_mut().for_each(|item| self.redact_json(item));
            }
            serde_json::Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.redact_json(field));
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            }
        }
    }

    /// Looks for this value from now on. It takes time with a long one.
    pub(crate) fn learn(&self, name: &SecretName, value: &SecretString) -> Learnt {
        let value = Arc::new(Value::new(name, value));
        self.add(vec![value.clone()]);
        Learnt { redactor: self.clone(), value, mark: None }
    }

    /// The versions that are looked for.
    pub(crate) fn known(&self) -> HashSet<Mark> {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        state.known.keys().cloned().collect()
    }

    /// Looks for what is `new` and not any longer for what is `gone`. A version without a value
    /// cannot be read. It takes time where there is much.
    pub(crate) fn change(
        &self,
        new: Vec<(Mark, SecretName, Option<SecretString>)>,
        gone: impl IntoIterator<Item = Mark>,
    ) {
        let values = new.into_iter().map(|(mark, name, value)| {
            let value = value.map_or_else(Value::unreadable, |value| Value::new(&name, &value));
            (mark, Arc::new(value))
        });
        let values: Vec<_> = values.collect();
        self.add(values.iter().map(|(_, value)| value.clone()).collect());
        let mut state = self.state();
        for (mark, value) in values {
            state.keep(mark, value);
        }
        for mark in gone {
            if let Some(value) = state.known.remove(&mark) {
                value.forget();
            }
        }
        drop(state);
        self.join();
    }

    fn add(&self, values: Vec<Arc<Value>>) {
        let table = Table::new(values);
        if !table.is_empty() {
            Arc::make_mut(&mut self.state().tables).push(Arc::new(table));
            self.join();
        }
    }

    /// Joins small tables to larger ones, as one carries ones in a sum: so there are few of them,
    /// and a value is moved only so often as their number. Texts are redacted meanwhile.
    fn join(&self) {
        // Whoever is at it sees what was added.
        let Ok(_alone) = self.0.joining.try_lock() else { return };
        loop {
            let tables = self.state().tables.clone();
            let Some(range) = table::to_join(&tables) else { return };
            let live = tables[range.clone()].iter().flat_map(|table| table.live().cloned());
            let joined = Table::new(live.collect());
            let joined = (!joined.is_empty()).then(|| Arc::new(joined));
            Arc::make_mut(&mut self.state().tables).splice(range, joined);
        }
    }

    fn state(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, mark: Mark, value: Arc<Value>) {
        if let Some(twin) = self.known.insert(mark, value) {
            twin.forget();
        }
    }

    fn remember(&mut self, value: Arc<Value>) {
        self.unsettled.push_back(value);
        if self.unsettled.len() > MAX_UNSETTLED
            && let Some(oldest) = self.unsettled.pop_front()
        {
            oldest.forget();
        }
    }
}

impl Learnt {
    /// It is in the vault, as this version.
    pub(crate) fn stored_as(mut self, mark: Mark) {
        self.mark = Some(mark);
    }
}

impl Drop for Learnt {
    fn drop(&mut self) {
        let (value, mut state) = (self.value.clone(), self.redactor.state());
        match self.mark.take() {
            Some(mark) => state.keep(mark, value),
            None => state.remember(value),
        }
    }
}

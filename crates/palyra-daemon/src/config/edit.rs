//! Changing the configuration file and leaving everything else in it as it is.

use std::io::Write;
use std::path::Path;

use palyra_common::api::ConfigChange;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::layers::{self, Origin};
use super::{lock, options, told, value};
use crate::failure::Failure;

/// What a change makes of a file.
pub(crate) struct Edited {
    /// The text after it. Comments and order stay.
    pub(crate) text: String,
    /// What was to be removed and is not there.
    pub(crate) not_set: Vec<String>,
}

/// Makes `change` in the text of the file at `path`.
pub(crate) fn edited(path: &Path, text: &str, change: &ConfigChange) -> Result<Edited, Failure> {
    let wrong = |error: toml_edit::TomlError| Failure::Config {
        path: path.to_owned(),
        what: told::unreadable(text, &error),
    };
    let mut document: DocumentMut = text.parse().map_err(wrong)?;
    for (key, value) in &change.set {
        let option = find(key)?;
        check_alone(option, key, value)?;
        let value = from_json(value).ok_or_else(|| Failure::Option {
            what: format!("{key}: a value is a text, a number, true or false, or a list of these"),
        })?;
        insert(&mut document, key, value)?;
    }
    let mut not_set = Vec::new();
    for key in &change.unset {
        if !remove(&mut document, key) {
            is_known(path, key)?;
            not_set.push(key.clone());
        }
    }
    Ok(Edited { text: document.to_string(), not_set })
}

/// Refuses a value by the name of its option: the line that it would get stands in no file yet.
fn check_alone(
    option: &options::ConfigOption,
    key: &str,
    value: &serde_json::Value,
) -> Result<(), Failure> {
    match toml::Value::try_from(value) {
        Ok(value) => layers::check_alone(option, key, &value, Origin::File),
        // What no file can hold is told below.
        Err(_) => Ok(()),
    }
}

/// Puts a value under `key`, with the tables that it stands in.
fn insert(document: &mut DocumentMut, key: &str, value: Value) -> Result<(), Failure> {
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let depth = tables.split('.').count();
    for (at, part) in tables.split('.').enumerate() {
        let inner = table.entry(part).or_insert_with(|| {
            let mut made = Table::new();
            // A heading is written for it only if it holds an option itself.
            made.set_implicit(true);
            Item::Table(made)
        });
        // A table within braces can hold values alone.
        if at + 1 < depth
            && let Item::Value(Value::InlineTable(braces)) = inner
        {
            *inner = Item::Table(std::mem::take(braces).into_table());
        }
        let Some(inner) = inner.as_table_like_mut() else {
            return Err(Failure::Option { what: format!("{part} of {key} is not a section") });
        };
        table = inner;
    }
    table.insert(name, Item::Value(value));
    Ok(())
}

/// Removes what is called `key`, an option or not: what is none keeps the daemon from starting. What
/// the operator has named goes with its last option.
fn remove(document: &mut DocumentMut, key: &str) -> bool {
    let is_ours = |name: &str| !name.contains('.') && options::is_part(name);
    let Some((tables, name)) = key.rsplit_once('.') else {
        // A section of ours is no option; its options are removed one by one.
        return !is_ours(key) && document.remove(key).is_some();
    };
    let mut found: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for part in tables.split('.') {
        found = found.and_then(|table| table.get_mut(part)?.as_table_like_mut());
    }
    let Some(table) = found else { return false };
    let removed = table.remove(name).is_some();
    let is_empty = table.is_empty();
    if removed && is_empty && !is_ours(tables) {
        remove(document, tables);
    }
    removed
}

/// A name that is neither an option nor in the file is a mistake.
fn is_known(path: &Path, key: &str) -> Result<(), Failure> {
    if options::find(key).is_some() || options::is_part(key) {
        return Ok(());
    }
    let nearest = options::nearest(key).map(|key| format!("; did you mean {key}?"));
    let nearest = nearest.unwrap_or_default();
    let what = format!("{key} is neither an option nor in {}{nearest}", path.display());
    Err(Failure::Refused(StableErrorEnvelope::new(ErrorCode::CommonNotFound, what)))
}

/// The value that a text on the command line means for an option.
pub(crate) fn value_of(key: &str, text: &str) -> Result<serde_json::Value, Failure> {
    let value = value::read(text, &find(key)?.default);
    Ok(serde_json::to_value(value).unwrap_or_default())
}

/// Replaces the file as a whole: whoever reads it meets the old text or the new one.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let (path, folder) = lock::place(path);
    lock::make(&folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    if let Ok(old) = std::fs::metadata(&path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}

fn find(key: &str) -> Result<&'static options::ConfigOption, Failure> {
    options::find(key).ok_or_else(|| Failure::UnknownKey {
        place: "the change".into(),
        key: key.to_owned(),
        nearest: options::nearest(key),
    })
}

fn from_json(value: &serde_json::Value) -> Option<Value> {
    match value {
        serde_json::Value::Bool(value) => Some((*value).into()),
        serde_json::Value::Number(number) => number.as_i64().map(Value::from),
        serde_json::Value::String(text) => Some(text.as_str().into()),
        serde_json::Value::Array(values) => {
            values.iter().map(from_json).collect::<Option<Array>>().map(Value::Array)
        }
        serde_json::Value::Null | serde_json::Value::Object(_) => None,
    }
}

//! Changing the configuration file and leaving everything else in it as it is.

use std::io::Write;
use std::path::Path;

use palyra_common::api::ConfigChange;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::{options, value};
use crate::failure::Failure;

/// The text of the file after `change`. Comments and order stay.
pub(crate) fn edited(path: &Path, text: &str, change: &ConfigChange) -> Result<String, Failure> {
    let wrong = |error: toml_edit::TomlError| Failure::Config {
        path: path.to_owned(),
        what: super::told::without_quotations(error.message()),
    };
    let mut document: DocumentMut = text.parse().map_err(wrong)?;
    for (key, value) in &change.set {
        let option = find(key)?;
        let section = document.entry(option.section()).or_insert_with(section);
        let Some(section) = section.as_table_like_mut() else {
            return Err(Failure::Option { what: format!("{} is not a section", option.section()) });
        };
        let value = from_json(value).ok_or_else(|| Failure::Option {
            what: format!("{key}: a value is a text, a number, true or false, or a list of these"),
        })?;
        section.insert(option.name(), Item::Value(value));
    }
    for key in &change.unset {
        let option = find(key)?;
        if let Some(section) = document.get_mut(option.section()).and_then(Item::as_table_like_mut)
        {
            section.remove(option.name());
        }
    }
    Ok(document.to_string())
}

/// The value that a text on the command line means for an option.
pub(crate) fn value_of(key: &str, text: &str) -> Result<serde_json::Value, Failure> {
    let value = value::read(text, &find(key)?.default);
    Ok(serde_json::to_value(value).unwrap_or_default())
}

/// Replaces the file as a whole: whoever reads it meets the old text or the new one.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays a link; what it points to is replaced.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    if let Ok(old) = std::fs::metadata(&path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}

fn find(key: &str) -> Result<&'static options::ConfigOption, Failure> {
    options::all().iter().find(|option| option.key == key).ok_or_else(|| Failure::UnknownKey {
        place: "the change".into(),
        key: key.to_owned(),
        nearest: options::nearest(key).map(str::to_owned),
    })
}

fn section() -> Item {
    Item::Table(Table::new())
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

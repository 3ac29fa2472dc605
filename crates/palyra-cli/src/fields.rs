//! What is said field by field: FIELD=VALUE.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// FIELD=VALUE. VALUE is JSON, or a text.
pub(crate) fn field(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("give FIELD=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

/// `was` with these fields in place of its own. A name with dots leads into a field: `limits.turns`.
pub(crate) fn with_fields<T: Serialize + DeserializeOwned>(
    what: &str,
    was: &T,
    fields: Vec<(String, Value)>,
) -> Result<T, Failure> {
    let mut all = Value::Object(fields_of(was));
    for (name, value) in fields {
        *place(&mut all, &name) = value;
    }
    read(what, all)
}

/// Says which field is wrong, because serde says only what.
fn read<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        Failure::asked(format!("{what} cannot be used: {place}{}", error.into_inner()))
    })
}

/// The fields of `value` with what they hold.
pub(crate) fn fields_of(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn place<'a>(all: &'a mut Value, name: &str) -> &'a mut Value {
    name.split('.').fold(all, |within, name| {
        if !within.is_object() {
            *within = Value::Object(Map::new());
        }
        &mut within[name]
    })
}

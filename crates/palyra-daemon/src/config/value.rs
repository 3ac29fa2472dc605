//! Text of the environment and the command line as a value of an option.

use toml::Value;

/// Reads `text` as what the option holds by default. A list is written with commas.
///
/// What does not fit stays text, so that the refusal is the same as for the file.
pub(super) fn read(text: &str, like: &Value) -> Value {
    let as_text = || Value::String(text.to_owned());
    match like {
        Value::Integer(_) => text.trim().parse().map_or_else(|_| as_text(), Value::Integer),
        Value::Float(_) => text.trim().parse().map_or_else(|_| as_text(), Value::Float),
        Value::Boolean(_) => text.trim().parse().map_or_else(|_| as_text(), Value::Boolean),
        Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::Array(parts.map(|part| Value::String(part.to_owned())).collect())
        }
        Value::String(_) | Value::Datetime(_) | Value::Table(_) => as_text(),
    }
}

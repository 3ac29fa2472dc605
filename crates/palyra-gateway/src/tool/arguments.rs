//! The arguments of a call in the one form in which they are shown, hashed and executed.

use std::fmt;

use palyra_common::ids::RunId;
use palyra_common::tape::Binding;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

#[cfg(test)]
mod tests;

/// The longest arguments, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The deepest.
const MAX_DEPTH: usize = 32;
/// Larger whole numbers are not the same in every reader of JSON.
const EXACT: u64 = 1 << 53;

/// Why arguments are not taken, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgumentError(String);

/// Arguments that mean the same to everybody.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// The object.
    pub value: Value,
    /// Its canonical text: keys in order, no blanks.
    pub text: String,
}

impl Arguments {
    /// Reads what a model wrote. Refused is what two readers could understand differently: a key that
    /// stands there twice, a whole number that not every reader can hold, U+0000.
    pub fn parse(written: &str) -> Result<Self, ArgumentError> {
        let written = if written.trim().is_empty() { "{}" } else { written };
        if written.len() > MAX_BYTES {
            return Err(ArgumentError(format!("arguments have at most {MAX_BYTES} bytes")));
        }
        let wrong = |error: serde_json::Error| {
            ArgumentError(format!("the arguments are not a JSON object: {error}"))
        };
        let Strict(value) = serde_json::from_str(written).map_err(wrong)?;
        if !value.is_object() {
            return Err(ArgumentError("the arguments are not a JSON object".to_owned()));
        }
        if depth(&value) > MAX_DEPTH {
            return Err(ArgumentError(format!("arguments are at most {MAX_DEPTH} levels deep")));
        }
        let value = sorted(value);
        let text = value.to_string();
        Ok(Self { value, text })
    }
}

/// Binds a call to all that was decided about it.
pub fn payload_sha256(
    run: RunId,
    call: &str,
    tool: &str,
    arguments: &str,
    bindings: &[Binding],
) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    part(b"palyra.tool-call.v1");
    for text in [run.to_string().as_str(), call, tool, arguments] {
        part(text.as_bytes());
    }
    for binding in bindings {
        part(binding.name.as_bytes());
        part(binding.sha256.as_deref().unwrap_or("absent").as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Whatever order the map keeps, the text has its keys in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        exact(value.unsigned_abs())?;
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        exact(value)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number is too large"))?;
        // A long id that was written as a number has been rounded already.
        if value.fract() == 0.0 && value.abs() > EXACT as f64 {
            return Err(inexact());
        }
        Ok(Value::Number(number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        plain(value)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            plain(&key)?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format!("the key {key:?} stands there twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

fn exact<E: de::Error>(value: u64) -> Result<(), E> {
    if value > EXACT { Err(inexact()) } else { Ok(()) }
}

fn inexact<E: de::Error>() -> E {
    E::custom("a whole number is too large to be exact: write long ids as strings")
}

fn plain<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') { Err(E::custom("a text contains U+0000")) } else { Ok(()) }
}

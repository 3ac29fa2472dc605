//! Rows as lines: one JSON array each, bytes as `{"b": "base64"}`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value as Json;

use super::BackupError;
use crate::StorageError;
use crate::value::{Column, Columns, Param, Row};

/// A column of a row that was read from a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    pub(crate) fn as_param(&self) -> Param<'_> {
        match self {
            Value::Null => Param::Null,
            Value::Int(value) => Param::Int(*value),
            Value::Text(value) => Param::Text(Cow::Borrowed(value)),
            Value::Bytes(value) => Param::Blob(value.into()),
        }
    }

    pub(crate) fn weight(&self) -> usize {
        match self {
            Value::Null | Value::Int(_) => 8,
            Value::Text(value) => value.len(),
            Value::Bytes(value) => value.len(),
        }
    }
}

/// Some columns of a row, in the order that the table's own file reads them in.
pub(crate) struct Picked<'a> {
    pub(crate) row: &'a [Value],
    pub(crate) places: &'a [usize],
}

impl Picked<'_> {
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Row<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        read(&Row(self))
    }
}

impl Columns for Picked<'_> {
    fn column(&self, index: usize) -> Result<Column<'_>, StorageError> {
        let missing = || StorageError::internal(format!("the row has no column {index}"));
        let value = self.places.get(index).and_then(|place| self.row.get(*place));
        Ok(match value.ok_or_else(missing)? {
            Value::Null => Column::Null,
            Value::Int(value) => Column::Int(*value),
            Value::Text(value) => Column::Text(value),
            Value::Bytes(value) => Column::Blob(value),
        })
    }
}

/// Where the columns `wanted` stand in `header`.
pub(crate) fn places(header: &[String], wanted: &[&str]) -> Option<Vec<usize>> {
    wanted.iter().map(|name| header.iter().position(|column| column == name)).collect()
}

/// Appends a row as a line.
pub(super) fn encode(line: &mut Vec<u8>, row: &Row<'_>, width: usize) -> Result<(), StorageError> {
    line.push(b'[');
    for index in 0..width {
        if index > 0 {
            line.push(b',');
        }
        match row.0.column(index)? {
            Column::Null => line.extend_from_slice(b"null"),
            Column::Int(value) => line.extend_from_slice(value.to_string().as_bytes()),
            Column::Text(value) => line.extend_from_slice(Json::from(value).to_string().as_bytes()),
            Column::Blob(value) => {
                line.extend_from_slice(b"{\"b\":\"");
                line.extend_from_slice(BASE64.encode(value).as_bytes());
                line.extend_from_slice(b"\"}");
            }
            Column::Real(_) => {
                let what = format!("column {index} is a real, which no table has");
                return Err(StorageError::InvalidValue { what });
            }
        }
    }
    line.extend_from_slice(b"]\n");
    Ok(())
}

/// Reads a line back.
pub(super) fn decode(line: &[u8], width: usize) -> Result<Vec<Value>, BackupError> {
    let wrong = || BackupError::invalid("a row has the wrong shape");
    let columns: Vec<Json> = serde_json::from_slice(line).map_err(|_| wrong())?;
    if columns.len() != width {
        return Err(wrong());
    }
    columns.into_iter().map(|column| value_of(column).ok_or_else(wrong)).collect()
}

fn value_of(column: Json) -> Option<Value> {
    match column {
        Json::Null => Some(Value::Null),
        Json::Number(number) => number.as_i64().map(Value::Int),
        Json::String(text) => Some(Value::Text(text)),
        Json::Object(object) => {
            let text = object.get("b").filter(|_| object.len() == 1)?.as_str()?;
            BASE64.decode(text).ok().map(Value::Bytes)
        }
        Json::Bool(_) | Json::Array(_) => None,
    }
}

#[cfg(test)]
mod tests;

//! What goes into a statement and what comes out of it.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use palyra_common::time::{Duration, Timestamp};

use crate::StorageError;

/// A value bound to a placeholder.
///
/// Flags are integers, times are unix milliseconds, ids and vocabulary are text: the same
/// five shapes on both engines.
#[derive(Debug, Clone, PartialEq)]
pub enum Param<'a> {
    /// No value.
    Null,
    /// A whole number, time or flag.
    Int(i64),
    /// A floating point number.
    Real(f64),
    /// Text without U+0000.
    Text(Cow<'a, str>),
    /// Bytes.
    Blob(Cow<'a, [u8]>),
}

/// Anything with a canonical text form (typed ids, contract enums) as a parameter.
pub fn text(value: impl Display) -> Param<'static> {
    Param::Text(Cow::Owned(value.to_string()))
}

/// The parameters of a statement: `params![text(id), now, name]`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Param::from($value)),*]
    };
}

impl Param<'_> {
    /// The same for a statement that is sent after this one is gone.
    pub(crate) fn kept(&self) -> Param<'static> {
        match self {
            Param::Null => Param::Null,
            Param::Int(value) => Param::Int(*value),
            Param::Real(value) => Param::Real(*value),
            Param::Text(value) => Param::Text(Cow::Owned(value.clone().into_owned())),
            Param::Blob(value) => Param::Blob(Cow::Owned(value.clone().into_owned())),
        }
    }

    /// Postgres refuses U+0000 in text and SQLite takes it, so it is refused here for both.
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        match self {
            Param::Text(text) if text.as_bytes().contains(&0) => Err(StorageError::InvalidValue {
                what: "text contains U+0000; strip it where the text enters".into(),
            }),
            Param::Null | Param::Int(_) | Param::Real(_) | Param::Text(_) | Param::Blob(_) => {
                Ok(())
            }
        }
    }
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Param::Int(value)
    }
}

impl From<u32> for Param<'_> {
    fn from(value: u32) -> Self {
        Param::Int(i64::from(value))
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Param::Int(i64::from(value))
    }
}

impl From<f64> for Param<'_> {
    fn from(value: f64) -> Self {
        Param::Real(value)
    }
}

impl From<Timestamp> for Param<'_> {
    fn from(value: Timestamp) -> Self {
        Param::Int(value.as_unix_millis())
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Param::Text(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Param::Text(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(value: &'a [u8]) -> Self {
        Param::Blob(Cow::Borrowed(value))
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// One column of a row, as the engine holds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Column<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// A floating point number.
    Real(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl Column<'_> {
    fn shape(self) -> &'static str {
        match self {
            Column::Null => "null",
            Column::Int(_) => "an integer",
            Column::Real(_) => "a real",
            Column::Text(_) => "text",
            Column::Blob(_) => "bytes",
        }
    }
}

/// Where an engine keeps the columns of one result row.
pub(crate) trait Columns {
    fn column(&self, index: usize) -> Result<Column<'_>, StorageError>;
}

/// One row of a result.
pub struct Row<'a>(pub(crate) &'a dyn Columns);

impl Row<'_> {
    /// The value of column `index`, counted from 0.
    pub fn get<T: FromColumn>(&self, index: usize) -> Result<T, StorageError> {
        let column = self.0.column(index)?;
        T::from_column(column).ok_or_else(|| StorageError::InvalidValue {
            what: format!("column {index} holds {} where {} is needed", column.shape(), T::SHAPE),
        })
    }

    /// The value of a text column that holds something parsed: an id, a contract enum.
    pub fn parse<T>(&self, index: usize) -> Result<T, StorageError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let text: String = self.get(index)?;
        text.parse().map_err(|error: T::Err| StorageError::InvalidValue {
            what: format!("column {index} cannot be read: {error}"),
        })
    }
}

/// A type that a column can be read as.
pub trait FromColumn: Sized {
    /// What a column must hold, in words.
    const SHAPE: &'static str;
    /// `None` if the column holds something else.
    fn from_column(column: Column<'_>) -> Option<Self>;
}

macro_rules! from_column {
    ($type:ty, $shape:literal, $pattern:pat => $value:expr) => {
        impl FromColumn for $type {
            const SHAPE: &'static str = $shape;
            fn from_column(column: Column<'_>) -> Option<Self> {
                if let $pattern = column { $value } else { None }
            }
        }
    };
}

from_column!(i64, "an integer", Column::Int(value) => Some(value));
from_column!(u64, "a non-negative integer", Column::Int(value) => u64::try_from(value).ok());
from_column!(u32, "a small integer", Column::Int(value) => u32::try_from(value).ok());
from_column!(bool, "0 or 1", Column::Int(value @ (0 | 1)) => Some(value == 1));
from_column!(f64, "a real", Column::Real(value) => Some(value));
from_column!(String, "text", Column::Text(value) => Some(value.to_owned()));
from_column!(Vec<u8>, "bytes", Column::Blob(value) => Some(value.to_vec()));
from_column!(Timestamp, "unix milliseconds",
    Column::Int(value) => Some(Timestamp::from_unix_millis(value)));
from_column!(Duration, "milliseconds",
    Column::Int(value) => u64::try_from(value).ok().map(Duration::from_millis));

impl<T: FromColumn> FromColumn for Option<T> {
    const SHAPE: &'static str = T::SHAPE;
    fn from_column(column: Column<'_>) -> Option<Self> {
        match column {
            Column::Null => Some(None),
            Column::Int(_) | Column::Real(_) | Column::Text(_) | Column::Blob(_) => {
                T::from_column(column).map(Some)
            }
        }
    }
}

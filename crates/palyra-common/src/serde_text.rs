//! Deserialising through `FromStr`, shared by every value whose wire form is a string.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Visitor};

pub(crate) fn deserialize<'de, T, D>(
    deserializer: D,
    expecting: &'static str,
) -> Result<T, D::Error>
where
    T: FromStr,
    T::Err: fmt::Display,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(FromText { expecting, value: PhantomData })
}

struct FromText<T> {
    expecting: &'static str,
    value: PhantomData<T>,
}

impl<T> Visitor<'_> for FromText<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

//! Numbers as JSON writes them: it knows one kind, so 60.0 is 60.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Beyond this a double skips numbers, so that another one than was written would be read.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A whole number, or none.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Option::<f64>::deserialize(deserializer)?.map(small).transpose()
}

/// A whole number.
pub(crate) fn whole_number<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u32>,
{
    let number = small(f64::deserialize(deserializer)?)?;
    T::try_from(number).map_err(|_| D::Error::custom("the number is too large"))
}

/// The version of something, or none.
pub(crate) fn whole_version<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    Ok(whole_large(deserializer)?.map(|number| number as i64))
}

/// A whole number that may be large, or none.
pub(crate) fn whole_large<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if number.fract() == 0.0 && (0.0..=MOST).contains(&number) {
        return Ok(Some(number as u64));
    }
    Err(D::Error::custom(format_args!("a whole number from 0 to {MOST} is expected")))
}

fn small<E: serde::de::Error>(number: f64) -> Result<u32, E> {
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        return Ok(number as u32);
    }
    Err(E::custom("a whole number from 0 to 4294967295 is expected"))
}

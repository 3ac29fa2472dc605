//! Numbers as JSON writes them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// JSON knows one kind of number: 60.0 is 60.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        return Ok(Some(number as u32));
    }
    Err(D::Error::custom("a whole number from 0 to 4294967295 is expected"))
}

/// The same for a number of any size that a version has.
pub(super) fn whole_version<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    /// Beyond this a double skips numbers.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let Some(number) = Option::<f64>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if number.fract() == 0.0 && (-MOST..=MOST).contains(&number) {
        return Ok(Some(number as i64));
    }
    Err(D::Error::custom("a whole number is expected"))
}

//! Randomness for names that must not collide between processes; never for decisions of a test,
//! which come from a printed seed.

use std::hash::{BuildHasher, Hasher, RandomState};

/// 64 unpredictable bits, from the keys that the standard library draws for its hash maps.
pub(crate) fn bits() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

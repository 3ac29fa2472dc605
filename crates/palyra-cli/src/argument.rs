//! What must not stand in an argument.

use std::ffi::OsString;

use palyra_common::shapes;

use crate::failure::{Failure, Outcome};

#[cfg(test)]
mod tests;

/// The option of palyrad that may name a password, and its name in the configuration.
const ADDRESS: (&str, &str) = ("--storage-url", "storage.url");

/// Refuses a value of the option `key` that holds a password.
pub(crate) fn refuse_password(key: &str, value: &str) -> Outcome {
    if !shapes::could_hold_password(key, value) {
        return Ok(());
    }
    Err(Failure::asked(format!(
        "the value holds a password, and every process of the machine can read an argument; run \
         `palyra config set {key} -` and type it at the prompt, or pipe it in"
    )))
}

/// Refuses options of palyrad that hold a password.
pub(crate) fn refuse_passwords(options: &[OsString]) -> Outcome {
    let (option, key) = ADDRESS;
    let words: Vec<_> = options.iter().map(|word| word.to_string_lossy()).collect();
    let separate = words.windows(2).filter(|pair| pair[0] == option).map(|pair| &*pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix(option)?.strip_prefix('='));
    separate.chain(joined).try_for_each(|value| refuse_password(key, value))
}

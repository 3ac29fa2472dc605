//! The daemon that is asked, for the commands that people are told.

use std::path::{Path, PathBuf};

use palyra_common::data_dir::VARIABLE;
use palyra_common::hint::Address;

use crate::cli::Globals;

#[cfg(test)]
mod tests;

/// The options that lead a command to the same daemon again.
pub(crate) fn address(globals: &Globals) -> Address {
    // What the environment says holds for the next command as well.
    let known = std::env::var_os(VARIABLE);
    let told = globals.data_dir.as_ref();
    let told = told.filter(|told| known.as_deref() != Some(told.as_os_str())).map(whole);
    let token = globals.token_file.as_ref().map(whole);
    let host = globals.host.as_ref().map(ToString::to_string);
    Address::new(told.as_deref(), host.as_deref().map(|host| (host, token.as_deref())))
}

fn whole(path: &PathBuf) -> String {
    let whole = std::path::absolute(path);
    whole.as_deref().unwrap_or(Path::new(path)).display().to_string()
}

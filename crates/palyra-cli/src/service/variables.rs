//! The variables of a service: systemd starts it with an environment of its own, so what no
//! configuration file may hold is handed to it in a file that only its owner can read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use palyra_common::data_dir::S3_VARIABLES;

use crate::failure::{Failure, Outcome};
use crate::files;

#[cfg(test)]
mod tests;

const FILE: &str = "service.env";
/// A file of a few keys is smaller.
const FILE_BYTES: u64 = 64 << 10;
/// The variable without which there is no key.
pub(super) const KEY: &str = S3_VARIABLES[0];
pub(crate) const NO_KEY: &str = "the service has no key for S3";
/// What gives it one.
pub(crate) const HOW: &str = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in your environment, \
                              and run `palyra daemon install` again.";

/// Where the variables of the service on `data_dir` are.
pub(crate) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Whether a key for S3 is among them.
pub(crate) fn has_key(data_dir: &Path) -> bool {
    let text = files::read_bounded(&path(data_dir), FILE_BYTES).unwrap_or_default();
    text.lines().any(|line| line.starts_with(KEY))
}

/// A key for S3 as it is kept.
#[derive(Default)]
pub(crate) struct S3Key {
    names: Vec<&'static str>,
    lines: String,
}

impl S3Key {
    /// The one that this program was started with, which may be none. Nothing is written yet.
    pub(crate) fn own() -> Result<Self, Failure> {
        let set = |name: &'static str| {
            Some((name, std::env::var_os(name).filter(|value| !value.is_empty())?))
        };
        let found: Vec<_> = S3_VARIABLES.into_iter().filter_map(set).collect();
        if !found.iter().any(|(name, _)| *name == KEY) {
            return Ok(Self::default());
        }
        let lines: Result<_, _> = found.iter().map(|(name, value)| line(name, value)).collect();
        Ok(Self { names: found.into_iter().map(|(name, _)| name).collect(), lines: lines? })
    }

    /// Keeps it, and gives the names. Without one, what was kept before stays.
    pub(crate) fn keep(self, data_dir: &Path) -> Result<Vec<&'static str>, Failure> {
        if !self.names.is_empty() {
            files::replace_private(&path(data_dir), self.lines.as_bytes())?;
        }
        Ok(self.names)
    }
}

/// Takes a key for S3 away. What somebody else has put beside it stays.
pub(crate) fn forget_s3_key(data_dir: &Path) -> Outcome {
    let path = path(data_dir);
    if !path.exists() {
        return Ok(());
    }
    let text = files::read_bounded(&path, FILE_BYTES)?;
    let is_of_key = |line: &&str| {
        let name = line.split_once('=').map(|(name, _)| name.trim());
        name.is_some_and(|name| S3_VARIABLES.contains(&name))
    };
    let left: String = text.split_inclusive('\n').filter(|line| !is_of_key(line)).collect();
    match left.trim() {
        "" => remove(data_dir),
        _ if left == text => Ok(()),
        _ => files::replace_private(&path, left.as_bytes()),
    }
}

/// As systemd reads it. A value is never repeated in what is told.
fn line(name: &str, value: &OsString) -> Result<String, Failure> {
    let value = value.to_str().filter(|value| !value.contains(char::is_control));
    let value = value.ok_or_else(|| {
        Failure::asked(format!("{name} has characters that no key has; nothing was written"))
    })?;
    let mut quoted = String::new();
    for letter in value.chars() {
        if matches!(letter, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    Ok(format!("{name}=\"{quoted}\"\n"))
}

/// Takes them away.
pub(crate) fn remove(data_dir: &Path) -> Outcome {
    let path = path(data_dir);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::file(&path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

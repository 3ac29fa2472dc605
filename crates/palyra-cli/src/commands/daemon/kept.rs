//! What a daemon was started with, so that its successor gets the same.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use palyra_common::data_dir::{self, Surroundings};

use crate::context::TOKEN_VARIABLE;
use crate::palyrad;

#[cfg(test)]
mod tests;

/// Variables of the environment, whose values may be secret.
pub(super) type Variables = Vec<(OsString, OsString)>;

const CONFIG_OPTION: &str = "--config";
pub(super) const CONFIG_VARIABLE: &str = "PALYRA_CONFIG";
/// What is named anew, and what is none of the daemon's business.
const LEFT_OUT: [&str; 3] = [data_dir::VARIABLE, TOKEN_VARIABLE, palyrad::VARIABLE];

/// The options that the process was started with, but for the data directory, which is named anew.
/// None where the system does not tell.
pub(super) fn options(pid: u32) -> Option<Vec<OsString>> {
    Some(resolved(without_data_dir(words(pid)?.into_iter()), &folder(pid)?))
}

/// The words after the name of the program that the process was started with.
pub(super) fn words(pid: u32) -> Option<Vec<OsString>> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let words = line.split(|byte| *byte == 0).skip(1);
    Some(words.map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

/// The data directory that the process was told, or that it takes where it was told none.
pub(super) fn data_dir(pid: u32) -> Option<PathBuf> {
    let all = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variable = |name: &str| {
        let start = [name.as_bytes(), b"="].concat();
        let found = all.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(&*start));
        found.map(|value| OsString::from_vec(value.to_owned()))
    };
    let told = told_data_dir(&words(pid)?).or_else(|| variable(data_dir::VARIABLE));
    let around = Surroundings { xdg_data_home: variable("XDG_DATA_HOME"), home: variable("HOME") };
    let found = data_dir::locate(told.map(PathBuf::from), around)?;
    Some(folder(pid)?.join(found))
}

fn told_data_dir(words: &[OsString]) -> Option<OsString> {
    let inline = |word: &OsString| {
        let told = word.as_bytes().strip_prefix(b"--data-dir=")?;
        Some(OsStr::from_bytes(told).to_owned())
    };
    let after = words.iter().skip_while(|word| *word != "--data-dir").nth(1).cloned();
    after.or_else(|| words.iter().find_map(inline))
}

/// The variables of ours that the process was started with, but for those that this program has
/// itself: what is said now wins. None where the system does not tell.
pub(super) fn variables(pid: u32) -> Option<Variables> {
    let all = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = ours(&all, &folder(pid)?);
    variables.retain(|(name, _)| std::env::var_os(name).is_none());
    Some(variables)
}

/// The names of the options that a daemon would read from the environment if this program started
/// it.
pub(super) fn own_names() -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name).filter(|name| is_option(name));
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// `options` as they read in `folder`, from wherever they are used: a file is named by its whole
/// path.
pub(super) fn resolved(options: Vec<OsString>, folder: &Path) -> Vec<OsString> {
    let mut names_file = false;
    let resolve = |option: OsString| {
        let is_file = names_file;
        names_file = !is_file && option == CONFIG_OPTION;
        let inline = option.as_bytes().strip_prefix(b"--config=").map(OsStr::from_bytes);
        match inline {
            _ if is_file => folder.join(option).into_os_string(),
            Some(file) => {
                let mut whole = OsString::from("--config=");
                whole.push(folder.join(file));
                whole
            }
            None => option,
        }
    };
    options.into_iter().map(resolve).collect()
}

fn folder(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

fn without_data_dir(mut words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        if word == "--data-dir" {
            words.next();
        } else if !word.as_bytes().starts_with(b"--data-dir=") {
            options.push(word);
        }
    }
    options
}

fn is_of_daemon(name: &OsStr) -> bool {
    is_option(name) || data_dir::S3_VARIABLES.iter().any(|it| name == *it)
}

fn is_option(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"PALYRA_") && !LEFT_OUT.iter().any(|it| name == *it)
}

fn ours(all: &[u8], folder: &Path) -> Variables {
    let variable = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (entry.get(..at)?, entry.get(at + 1..)?);
        let name = OsStr::from_bytes(name);
        let is_kept = is_of_daemon(name);
        let value = OsString::from_vec(value.to_owned());
        let value = if name == CONFIG_VARIABLE { folder.join(value).into() } else { value };
        is_kept.then(|| (name.to_owned(), value))
    };
    let mut variables: Variables = all.split(|byte| *byte == 0).filter_map(variable).collect();
    variables.sort();
    variables
}

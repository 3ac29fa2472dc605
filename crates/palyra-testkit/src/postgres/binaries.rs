//! Finding a Postgres installation.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::tool;

/// The variable that names the directory of the Postgres programs to use.
const BIN_VARIABLE: &str = "PALYRA_POSTGRES_BIN";

/// Every program the testkit calls. A client-only installation lacks the first three, and
/// distributions put a few of them alone on the search path, so a directory must hold all.
const PROGRAMS: [&str; 8] =
    ["initdb", "pg_ctl", "postgres", "psql", "createdb", "dropdb", "pg_dump", "pg_isready"];

/// Where packages put each major version, as (directory of versions, name before the version).
const VERSIONED: [(&str, &str); 4] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
];

/// The oldest major version with ICU as a database's own locale provider.
const OLDEST_MAJOR: u32 = 15;

/// The directory of a complete installation.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    dir: PathBuf,
}

impl Binaries {
    /// The installation named by `PALYRA_POSTGRES_BIN`, or the first complete one found.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let dir = match std::env::var_os(BIN_VARIABLE) {
            Some(named) => first_complete(&[PathBuf::from(named)])
                .with_context(|| format!("{BIN_VARIABLE} names no usable installation"))?,
            None => first_complete(&candidates())?,
        };
        let found = Self { dir };
        let major = found.major_version()?;
        if major < OLDEST_MAJOR {
            bail!(
                "{} is Postgres {major}, the tests need {OLDEST_MAJOR} or newer; {}",
                found.dir.display(),
                advice()
            );
        }
        Ok(found)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// One of [`PROGRAMS`], free of the caller's `PG*` variables and locale.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.dir.join(program));
        without_settings(&mut command);
        command
    }

    fn major_version(&self) -> anyhow::Result<u32> {
        let text =
            tool::run(self.command("postgres").arg("--version"), "", Duration::from_secs(30))?;
        parse_major(&text).with_context(|| format!("no version in {:?}", text.trim()))
    }
}

/// Removes what would redirect a Postgres program to another server, and fixes its language.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C");
}

fn advice() -> String {
    format!(
        "install the Postgres server (Debian, Ubuntu: `apt-get install postgresql`; \
         Fedora: `dnf install postgresql-server`; macOS: `brew install postgresql@17`) \
         or set {BIN_VARIABLE} to the directory that holds {}",
        PROGRAMS.join(", ")
    )
}

fn first_complete(dirs: &[PathBuf]) -> anyhow::Result<PathBuf> {
    if let Some(dir) = dirs.iter().find(|dir| missing(dir).is_empty()) {
        return Ok(dir.clone());
    }
    let seen: Vec<String> = dirs
        .iter()
        .map(|dir| format!("{} (lacks {})", dir.display(), missing(dir).join(", ")))
        .collect();
    bail!("no Postgres server installation in [{}]: {}", seen.join("; "), advice())
}

fn missing(dir: &Path) -> Vec<&'static str> {
    PROGRAMS.into_iter().filter(|program| !dir.join(program).is_file()).collect()
}

fn candidates() -> Vec<PathBuf> {
    let mut dirs = on_search_path(&std::env::var_os("PATH").unwrap_or_default());
    let asked = tool::run(Command::new("pg_config").arg("--bindir"), "", Duration::from_secs(30));
    dirs.extend(asked.ok().map(|text| PathBuf::from(text.trim())));
    for (parent, prefix) in VERSIONED {
        dirs.extend(newest_first(Path::new(parent), prefix));
    }
    dirs
}

/// The real directories behind each `initdb` on the search path, which is often a lone link.
fn on_search_path(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path)
        .filter_map(|dir| dir.join("initdb").canonicalize().ok())
        .filter_map(|initdb| initdb.parent().map(Path::to_owned))
        .collect()
}

fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((version_of(&entry.file_name(), prefix)?, entry.path())))
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, dir)| dir.join("bin")).collect()
}

fn version_of(name: &OsString, prefix: &str) -> Option<u32> {
    name.to_str()?.strip_prefix(prefix)?.parse().ok()
}

fn parse_major(version: &str) -> Option<u32> {
    let number = version.split_whitespace().find(|word| word.starts_with(char::is_numeric))?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests;

//! One database per test.

use std::path::Path;
use std::sync::Arc;

use super::cluster::{Cluster, SUPERUSER};
use crate::entropy;

/// How a database orders and compares text by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseLocale {
    /// Bytewise.
    C,
    /// By the rules of American English, through ICU: what many installations have, and what shows
    /// a missing `COLLATE "C"`.
    Icu,
}

/// An empty database, dropped together with all its connections when this value is.
#[derive(Debug)]
pub struct TestDatabase {
    cluster: Arc<Cluster>,
    name: String,
}

impl TestDatabase {
    pub(crate) fn create(cluster: Arc<Cluster>, locale: DatabaseLocale) -> anyhow::Result<Self> {
        let name = format!("test_{:016x}", entropy::bits());
        let mut args = vec!["--template=template0"];
        match locale {
            DatabaseLocale::C => {}
            DatabaseLocale::Icu => args.extend(["--locale-provider=icu", "--icu-locale=en-US"]),
        }
        args.push(&name);
        cluster.client("createdb", &args, "")?;
        Ok(Self { cluster, name })
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where to connect, as `postgres://user@/name?host=…&port=…`.
    pub fn url(&self) -> String {
        self.url_through(&self.cluster.dir, self.cluster.port)
    }

    /// Runs SQL with `psql`, which stops at the first error, and returns the rows as unaligned text
    /// without headers: columns parted by `|`, one row per line.
    pub fn psql(&self, sql: &str) -> anyhow::Result<String> {
        let args = [
            "--no-psqlrc",
            "--no-password",
            "--quiet",
            "--no-align",
            "--tuples-only",
            "--set=ON_ERROR_STOP=1",
            "--file=-",
            "--dbname",
            &self.name,
        ];
        let output = self.cluster.client("psql", &args, sql)?;
        Ok(output.trim_end_matches('\n').to_owned())
    }

    /// The schema as SQL.
    pub fn dump_schema(&self) -> anyhow::Result<String> {
        self.dump_with(&["--schema-only"])
    }

    /// Schema and rows as SQL, to be read back by [`Self::psql`].
    pub fn dump(&self) -> anyhow::Result<String> {
        self.dump_with(&["--inserts", "--rows-per-insert=100"])
    }

    /// Without what differs between two dumps of one database: comments, blank lines and the
    /// random key of `\restrict`.
    fn dump_with(&self, options: &[&str]) -> anyhow::Result<String> {
        let args = [options, &["--no-owner", "--no-privileges", "--dbname", &self.name]].concat();
        let dump = self.cluster.client("pg_dump", &args, "")?;
        let noise = ["--", "\\restrict", "\\unrestrict"];
        let kept = dump
            .lines()
            .filter(|line| !line.is_empty() && !noise.iter().any(|start| line.starts_with(start)));
        Ok(kept.fold(String::new(), |text, line| text + line + "\n"))
    }

    pub(crate) fn url_through(&self, dir: &Path, port: u16) -> String {
        let host = percent_encoded(dir.as_os_str().as_encoded_bytes());
        format!("postgres://{SUPERUSER}@/{}?host={host}&port={port}", self.name)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // A server that the test stopped or killed takes the database with it.
        let _ = self.cluster.client("dropdb", &["--if-exists", "--force", &self.name], "");
    }
}

fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            text + &char::from(*byte).to_string()
        }
        other => text + &format!("%{other:02X}"),
    })
}

#[cfg(test)]
mod tests;

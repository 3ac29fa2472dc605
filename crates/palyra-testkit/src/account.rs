//! The unprivileged accounts that stand in for root, which Postgres refuses and permissions ignore.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

/// One line of `/etc/passwd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// The first of `names` that exists when we are root; nothing when we are not, because then
    /// there is no privilege to give up.
    pub(crate) fn instead_of_root(names: &[&str]) -> anyhow::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = std::fs::read_to_string("/etc/passwd").context("read /etc/passwd")?;
        let account = names
            .iter()
            .find_map(|name| Self::parse(&passwd, name))
            .with_context(|| format!("none of the accounts {names:?} is in /etc/passwd"))?;
        Ok(Some(account))
    }

    /// Makes `command` run as this account.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives `path` to this account.
    pub(crate) fn own(&self, path: &Path) -> anyhow::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
            .with_context(|| format!("give {} to {}", path.display(), self.name))
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    fn parse(passwd: &str, name: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next()? != name {
                return None;
            }
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Self { name: name.to_owned(), uid, gid })
        })
    }
}

#[cfg(test)]
mod tests;

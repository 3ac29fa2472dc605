//! palyrad as a service of the user's systemd.

mod unit;
pub(crate) mod variables;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use palyra_common::data_dir::{self, Outside, Surroundings};

use crate::failure::Failure;
use crate::files;

use unit::MARK;
pub(crate) use unit::{Content, text};

#[cfg(test)]
mod tests;

/// The unit of the usual data directory. Earlier versions have called every unit so.
const USUAL: &str = "palyra.service";

/// What a unit keeps from its daemon.
#[derive(Debug)]
pub(crate) struct Withheld {
    pub(crate) what: String,
    /// What gives it to the daemon.
    pub(crate) remedy: &'static str,
}

/// The unit of one data directory. Each directory has its own, so that none acts on another's.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    name: String,
    path: PathBuf,
    /// The other data directory that a unit of this name is for.
    taken_by: Option<PathBuf>,
}

impl Unit {
    /// Whether systemd starts it by itself, by the link that it makes for that.
    pub(crate) fn is_enabled(&self) -> bool {
        let wants = self.path.with_file_name(unit::WANTED_BY).with_added_extension("wants");
        wants.join(&self.name).is_symlink()
    }

    pub(crate) fn of(data_dir: &Path) -> Result<Self, Failure> {
        Ok(Self::within(&folder()?, &usual_data_dir(), data_dir))
    }

    /// As [`Self::of`], with units kept in `folder` and the usual data directory `usual`.
    fn within(folder: &Path, usual: &Path, data_dir: &Path) -> Self {
        let data_dir = files::without_links(data_dir);
        let earlier = served(&folder.join(USUAL), usual);
        let is_usual = data_dir == files::without_links(usual);
        let name = if is_usual || earlier.as_ref() == Some(&data_dir) {
            USUAL.to_owned()
        } else {
            unit::name(&data_dir)
        };
        let path = folder.join(&name);
        let taken_by = served(&path, usual).filter(|served| *served != data_dir);
        Self { name, path, taken_by }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where it is kept.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn taken_by(&self) -> Option<&Path> {
        self.taken_by.as_deref()
    }

    /// Whether it is there, for this data directory.
    pub(crate) fn is_installed(&self) -> bool {
        self.path.exists() && self.taken_by.is_none()
    }

    /// Whether we have written what is there.
    pub(crate) fn is_ours(&self) -> bool {
        std::fs::read_to_string(&self.path).is_ok_and(|text| text.starts_with(MARK))
    }

    /// Whether the process `pid` is the one that systemd runs under it.
    pub(crate) fn manages(&self, pid: u32) -> bool {
        let asked = ["show", "--property=MainPID", "--value", &self.name];
        self.is_installed() && systemctl(&asked).is_ok_and(|main| main == pid.to_string())
    }

    /// How it is, where systemd has given up on it or waits before it tries again.
    pub(crate) fn has_ended(&self) -> Option<String> {
        let asked = ["show", "--property=SubState", "--value", &self.name];
        let state = systemctl(&asked).ok()?;
        ["dead", "failed", "auto-restart"].contains(&&*state).then_some(state)
    }

    /// What it keeps from the daemon on `data_dir`, which needs `outside`, if anything.
    pub(crate) fn withholds(&self, data_dir: &Path, outside: &Outside) -> Option<Withheld> {
        // Of a unit of somebody else it is theirs to know.
        if !self.is_installed() || !self.is_ours() {
            return None;
        }
        let text = self.text_with_changes();
        let open: Vec<_> =
            unit::writable(&text).iter().map(|open| files::without_links(open)).collect();
        let is_shut = |folder: &&PathBuf| {
            let folder = files::without_links(folder);
            !open.iter().any(|open| folder.starts_with(open))
        };
        let mut shut = outside.folders.iter().filter(is_shut).map(|folder| folder.display());
        if let Some(folder) = shut.next() {
            let what = format!("the service may not write to {folder}");
            return Some(Withheld { what, remedy: "Run `palyra daemon install` again." });
        }
        let has_key = text.contains(variables::KEY) || variables::has_key(data_dir);
        let without = || Withheld { what: variables::NO_KEY.into(), remedy: variables::HOW };
        (outside.s3 && !has_key).then(without)
    }

    /// With the drop-ins in which people keep their changes.
    fn text_with_changes(&self) -> String {
        let folder = files::with_ending(&self.path, ".d");
        let changes = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let changes = changes.map(|entry| entry.path());
        let all = std::iter::once(self.path.clone()).chain(changes);
        all.filter_map(|path| std::fs::read_to_string(path).ok()).collect::<Vec<_>>().join("\n")
    }

    /// The program that it starts.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        unit::program(&text).filter(|_| self.taken_by.is_none())
    }
}

/// The data directory that the unit at `path` is for: without the option, the usual one.
fn served(path: &Path, usual: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(path).ok()?;
    let told = unit::data_dir(&text);
    Some(files::without_links(told.as_deref().unwrap_or(usual)))
}

fn usual_data_dir() -> PathBuf {
    let around = Surroundings {
        xdg_data_home: std::env::var_os("XDG_DATA_HOME"),
        home: std::env::var_os("HOME"),
    };
    data_dir::locate(None, around).unwrap_or_default()
}

/// Where units are kept.
fn folder() -> Result<PathBuf, Failure> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME");
    let folder = folder.or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let nowhere = || Failure::asked("there is no place for the unit, because HOME is not set");
    Ok(folder.ok_or_else(nowhere)?.join("systemd/user"))
}

/// Calls `systemctl --user`. An error says why it did not work, in one line.
pub(crate) fn systemctl(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).stdin(Stdio::null());
    let ran = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no systemctl on this machine".to_owned(),
        _ => format!("systemctl: {error}"),
    })?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let why = reason(&said).unwrap_or("it did not say why");
    Err(format!("systemctl --user {}: {why}", arguments.join(" ")))
}

/// Why systemctl failed. It tells before what it has done until then: links are files, for which it
/// needs nobody.
fn reason(said: &str) -> Option<&str> {
    let is_done =
        |line: &str| ["Created symlink ", "Removed "].iter().any(|it| line.starts_with(it));
    said.lines().map(str::trim).find(|line| !line.is_empty() && !is_done(line))
}

/// Whether there is a systemd of this user to talk to.
pub(crate) fn answers() -> bool {
    systemctl(&["show", "--property=Version"]).is_ok()
}

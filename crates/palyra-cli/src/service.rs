//! palyrad as a service of the user's systemd.

mod unit;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

pub(crate) use unit::{MARK, text};

/// The name of the unit.
pub(crate) const UNIT: &str = "palyra.service";

/// Where the unit is kept.
pub(crate) fn unit_path() -> Result<PathBuf, Failure> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME");
    let folder = folder.or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let nowhere = || Failure::asked("there is no place for the unit, because HOME is not set");
    Ok(folder.ok_or_else(nowhere)?.join("systemd/user").join(UNIT))
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
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it did not say why");
    Err(format!("systemctl --user {}: {first}", arguments.join(" ")))
}

/// Whether the process `pid` is the one that systemd runs under our unit.
pub(crate) fn manages(pid: u32) -> bool {
    let asked = ["show", "--property=MainPID", "--value", UNIT];
    systemctl(&asked).is_ok_and(|main| main == pid.to_string())
}

/// The program that the unit at `path` starts.
pub(crate) fn program_of(path: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(path).ok()?;
    unit::program(&text)
}

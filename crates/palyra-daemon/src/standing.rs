//! Who may change a file or folder that the daemon relies on.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use palyra_common::{ErrorCode, StableErrorEnvelope};

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// Root may do anything anyway.
const ROOT: u32 = 0;

/// To whom something belongs, and what others may do to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) owner: u32,
    pub(crate) mode: u32,
}

impl Standing {
    /// Of what `path` leads to.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self { owner: found.uid(), mode: found.mode() & 0o7777 })
    }

    /// Whether it belongs to somebody who is neither `us` nor root: whatever its mode is, they can
    /// change that.
    pub(crate) fn is_foreign(self, us: u32) -> bool {
        self.owner != us && self.owner != ROOT
    }

    fn others_write(self) -> bool {
        self.mode & 0o022 != 0
    }

    /// Whether others may put something else in the place of what is in this folder. In a sticky one,
    /// as /tmp, only the owner of a file may.
    fn others_replace(self) -> bool {
        self.others_write() && self.mode & 0o1000 == 0
    }

    fn others_enter(self) -> bool {
        self.mode & 0o011 != 0
    }
}

/// The user that this process acts as.
pub(crate) fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Why a file cannot be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Foreign,
    Writable,
    ForeignFolder,
    Replaceable,
}

/// Whether somebody else may change a file in a folder. A file that they may write does not matter
/// where they cannot get at it.
fn doubt(file: Standing, folder: Standing, us: u32) -> Option<Doubt> {
    match (file, folder) {
        _ if file.is_foreign(us) => Some(Doubt::Foreign),
        _ if folder.is_foreign(us) => Some(Doubt::ForeignFolder),
        _ if folder.others_replace() => Some(Doubt::Replaceable),
        _ if file.others_write() && folder.others_enter() => Some(Doubt::Writable),
        _ => None,
    }
}

/// Refuses a configuration file that somebody else may change: it says which programs the daemon runs
/// and where everything is kept. A link is looked at with what it leads to. One that is not there is
/// told by whoever reads it.
pub(crate) fn check_config(file: &Path) -> Result<(), Failure> {
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut folders = vec![folder_of(file)];
    if !folders.contains(&folder_of(&target)) {
        folders.push(folder_of(&target));
    }
    let Ok(standing) = Standing::of(&target) else { return Ok(()) };
    for folder in folders {
        let Ok(around) = Standing::of(&folder) else { continue };
        if let Some(doubt) = doubt(standing, around, us()) {
            let what = told(doubt, (&target, standing), (&folder, around));
            let code = ErrorCode::ConfigOpenToOthers;
            return Err(Failure::Refused(StableErrorEnvelope::new(code, what)));
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// In words, with the command that closes it.
fn told(doubt: Doubt, file: (&Path, Standing), folder: (&Path, Standing)) -> String {
    let ((path, file), (around, folder)) = (file, folder);
    let shown = path.display();
    let (why, remedy) = match doubt {
        Doubt::Foreign => (
            format!("it belongs to user {}", file.owner),
            format!("chown {} {}", us(), quoted(path)),
        ),
        Doubt::Writable => {
            (format!("its mode is {:o}", file.mode), format!("chmod go-w {}", quoted(path)))
        }
        Doubt::ForeignFolder => (
            format!("its folder {} belongs to user {}", around.display(), folder.owner),
            format!("chown {} {}", us(), quoted(around)),
        ),
        Doubt::Replaceable => (
            format!("its folder {} has mode {:o}", around.display(), folder.mode),
            format!("chmod go-w {}", quoted(around)),
        ),
    };
    format!(
        "others can change the configuration file {shown}, and so which programs the daemon runs and \
         where it keeps everything: {why}; after making sure that nobody has, run {remedy}"
    )
}

/// For a shell.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

//! The folder in which an agent reads and writes. Nothing outside of it is reached: neither by a
//! link, nor by `..`, nor by whoever swaps a folder for a link at the right moment.

mod open;
mod path;
mod replace;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use palyra_common::ids::AgentId;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, statat};
use rustix::io::Errno;

use crate::tool::ToolFault;
pub(super) use path::WorkPath;
use replace::is_partial;

/// The largest text that is read or written at once.
pub(super) const MAX_TEXT: u64 = 1 << 20;
/// More entries of a folder than this are not looked at.
const MAX_ENTRIES: usize = 100_000;

/// The workspaces of all agents.
#[derive(Debug, Clone)]
pub(super) struct Workspaces(Arc<PathBuf>);

/// That of one.
#[derive(Debug)]
pub(super) struct Workspace {
    root: OwnedFd,
}

/// A regular file.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) mode: Mode,
}

/// What stands in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Nothing: a name that is no path of ours.
    pub(super) name: Option<String>,
    /// For people.
    pub(super) shown: String,
    pub(super) kind: FileType,
    pub(super) size: u64,
}

impl Workspaces {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(Arc::new(folder))
    }

    /// The workspace of an agent, if there is one yet.
    pub(super) fn find(&self, agent: &AgentId) -> Result<Option<Workspace>, ToolFault> {
        let name = folder_name(agent)?;
        let opened =
            rustix::fs::open(&**self.0, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .and_then(|all| open::step(all.as_fd(), name));
        match opened {
            Ok(root) => Ok(Some(Workspace { root })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(unusable(error)),
        }
    }

    /// The workspace of an agent.
    pub(super) fn make(&self, agent: &AgentId) -> Result<Workspace, ToolFault> {
        let name = folder_name(agent)?;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&**self.0);
        made.map_err(|error| ToolFault::new(format!("the workspace cannot be made: {error}")))?;
        let all = rustix::fs::open(&**self.0, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let all = all.map_err(unusable)?;
        let root = replace::folder(all.as_fd(), name).map_err(unusable)?;
        Ok(Workspace { root })
    }
}

/// Two names are no folders of their own.
fn folder_name(agent: &AgentId) -> Result<&str, ToolFault> {
    match agent.as_str() {
        "." | ".." => Err(ToolFault::new("an agent of this name has no workspace: rename it")),
        name => Ok(name),
    }
}

fn unusable(error: Errno) -> ToolFault {
    ToolFault::new(format!("the workspace cannot be used: {error}"))
}

impl Workspace {
    /// A regular file to read.
    pub(super) fn file(&self, path: &WorkPath) -> Result<Opened, ToolFault> {
        self.find(path)?.ok_or_else(|| fault(path, Errno::NOENT))
    }

    /// The same, if it is there.
    pub(super) fn find(&self, path: &WorkPath) -> Result<Option<Opened>, ToolFault> {
        // A fifo would make us wait for somebody, and a terminal could become ours.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match open::beneath(self.root.as_fd(), path, flags) {
            Ok(opened) => opened,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(fault(path, error)),
        };
        let about = fstat(&opened).map_err(|error| fault(path, error))?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(fault(path, Errno::ISDIR)),
            _ => return Err(fault(path, Errno::NXIO)),
        }
        if about.st_nlink > 1 {
            let what = "has a second name, which may lie outside of the workspace: it is not used";
            return Err(ToolFault::new(format!("{path} {what}")));
        }
        let size = u64::try_from(about.st_size).unwrap_or(0);
        let mode = Mode::from_raw_mode(about.st_mode) & Mode::from_raw_mode(0o777);
        Ok(Some(Opened { file: File::from(opened), size, mode }))
    }

    /// Calls `each` with what is in a folder, in no order. Says whether that was all.
    pub(super) fn entries(
        &self,
        path: &WorkPath,
        mut each: impl FnMut(Entry),
    ) -> Result<bool, ToolFault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = open::beneath(self.root.as_fd(), path, flags);
        let folder = folder.map_err(|error| fault(path, error))?;
        let mut entries = Dir::read_from(&folder).map_err(|error| fault(path, error))?;
        for _ in 0..MAX_ENTRIES {
            let Some(entry) = entries.read() else { return Ok(true) };
            let entry = entry.map_err(|error| fault(path, error))?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || name.to_str().is_ok_and(is_partial) {
                continue;
            }
            // Gone again, or not ours to look at.
            let Ok(about) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let shown = name.to_string_lossy();
            let usable = name.to_str().ok().filter(|name| path.join(name).is_ok());
            each(Entry {
                name: usable.map(ToOwned::to_owned),
                shown: super::show::plain(&shown),
                kind: FileType::from_raw_mode(about.st_mode),
                size: u64::try_from(about.st_size).unwrap_or(0),
            });
        }
        Ok(false)
    }

    /// Replaces a file as a whole, or makes it, with the folders above it.
    pub(super) fn replace(
        &self,
        path: &WorkPath,
        content: &[u8],
        mode: Option<Mode>,
    ) -> Result<(), ToolFault> {
        let mode = mode.unwrap_or(Mode::RUSR | Mode::WUSR);
        replace::file(self.root.as_fd(), path, content, mode).map_err(|error| fault(path, error))
    }
}

impl Opened {
    /// The whole of a file of at most `most` bytes.
    pub(super) fn read(&self, path: &WorkPath, most: u64) -> Result<Vec<u8>, ToolFault> {
        let mut content = Vec::new();
        let read = (&self.file).take(most.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|error| ToolFault::new(format!("{path} cannot be read: {error}")))?;
        if content.len() as u64 > most {
            let what = format!("{path} has more than {most} bytes, which is too large for this");
            return Err(ToolFault::new(what));
        }
        Ok(content)
    }
}

/// Bytes as text, unless they are something else.
pub(super) fn as_text(path: &WorkPath, content: Vec<u8>) -> Result<String, ToolFault> {
    let text = String::from_utf8(content).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| ToolFault::new(format!("{path} is not UTF-8 text: only text is used")))
}

/// What went wrong, for the model.
fn fault(path: &WorkPath, error: Errno) -> ToolFault {
    let what = match error {
        Errno::NOENT => "is not there: look with fs.list",
        Errno::LOOP | Errno::XDEV => "is, or goes through, a link: links are not followed",
        Errno::NOTDIR => "is no folder, or goes through something that is none",
        Errno::ISDIR => "is a folder: look into it with fs.list",
        Errno::NXIO | Errno::NODEV => "is no regular file: only those are used",
        Errno::ACCESS | Errno::PERM => "may not be used: its permissions forbid it",
        Errno::NOSPC | Errno::DQUOT => "could not be written: the disk is full",
        Errno::NOTEMPTY | Errno::EXIST => "is something else: choose another name",
        error => return ToolFault::new(format!("{path}: {error}")),
    };
    ToolFault::new(format!("{path} {what}"))
}

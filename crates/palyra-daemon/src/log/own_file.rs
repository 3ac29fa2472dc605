//! The log of a daemon in the background, which is put aside before it fills the disk.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use palyra_common::data_dir::{LOG, LOG_BYTES};
use rustix::fs::{Stat, fstat};
use rustix::stdio::{dup2_stderr, dup2_stdout, stderr, stdout};

/// The file below the data directory that whoever started us has given us for standard error.
pub(super) struct OwnFile {
    path: PathBuf,
    turning: Mutex<()>,
}

impl OwnFile {
    /// None where standard error goes elsewhere: a file of somebody's choice is theirs to look after.
    pub(super) fn of_stderr(data_dir: &Path) -> Option<Self> {
        let path = data_dir.join(LOG);
        let is_ours = is_at(&fstat(stderr()).ok()?, &path);
        is_ours.then(|| Self { path, turning: Mutex::new(()) })
    }

    /// Begins a new file where this one has become too large.
    fn look(&self) {
        let is_large = || fstat(stderr()).is_ok_and(|file| file.st_size as u64 > LOG_BYTES);
        if !is_large() {
            return;
        }
        // Somebody else who turns it does it for all.
        let Ok(_turning) = self.turning.try_lock() else { return };
        if is_large() {
            // Where it cannot be done the next line tries again; nobody could be told but the log.
            let _ = self.turn();
        }
    }

    fn turn(&self) -> io::Result<()> {
        let also_stdout = fstat(stdout()).is_ok_and(|file| is_at(&file, &self.path));
        let mut aside = self.path.clone().into_os_string();
        aside.push(".1");
        // One that was moved away already is not put in the place of the one before.
        if fstat(stderr()).is_ok_and(|file| is_at(&file, &self.path)) {
            std::fs::rename(&self.path, aside)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        dup2_stderr(&file)?;
        if also_stdout {
            dup2_stdout(&file)?;
        }
        Ok(())
    }
}

/// Whether an open file is the one at `path`.
fn is_at(file: &Stat, path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|at| (at.dev(), at.ino()) == (file.st_dev, file.st_ino))
}

/// Standard error, where a file of ours stays bounded.
pub(super) struct Written<'a>(pub(super) Option<&'a OwnFile>);

impl Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = io::stderr().write(bytes)?;
        if let Some(own) = self.0 {
            own.look();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

//! The log of a daemon that runs in the background.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use palyra_common::data_dir::{LOG, LOG_BYTES};

use crate::failure::Failure;
use crate::files;

#[cfg(test)]
mod tests;

/// How much of the end is looked at for the last lines.
const TAIL_BYTES: u64 = 4 << 20;

/// Where the log of the daemon on `data_dir` is.
pub(crate) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(LOG)
}

/// Opens the log for a daemon that is about to start, and says where its part of it begins.
pub(crate) fn open_for_start(path: &Path) -> Result<(File, u64), Failure> {
    if let Some(folder) = path.parent() {
        files::private_folder(folder).map_err(|error| Failure::unwritable(folder, &error))?;
    }
    if std::fs::metadata(path).is_ok_and(|log| log.len() > LOG_BYTES) {
        let aside = files::with_ending(path, ".1");
        std::fs::rename(path, &aside).map_err(|error| Failure::unwritable(&aside, &error))?;
    }
    let mut options = OpenOptions::new();
    let log = options.append(true).create(true).mode(0o600).open(path);
    let wrong = |error: std::io::Error| Failure::unwritable(path, &error);
    let log = log.map_err(wrong)?;
    let begins = log.metadata().map_err(wrong)?.len();
    Ok((log, begins))
}

/// The last `count` lines from position `begins` on, and the position after them.
pub(crate) fn last_lines(
    path: &Path,
    begins: u64,
    count: usize,
) -> std::io::Result<(Vec<String>, u64)> {
    let mut log = File::open(path)?;
    let end = log.metadata()?.len();
    let from = begins.max(end.saturating_sub(TAIL_BYTES));
    log.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    log.take(end.saturating_sub(from)).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    // The first line may have been cut in two.
    let cut = usize::from(from > begins && lines.len() > 1);
    let skipped = lines.len().saturating_sub(count).max(cut);
    Ok((lines.split_off(skipped.min(lines.len())), end))
}

/// Reads what is added to a log, also when it is put aside and begun anew.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    log: File,
    position: u64,
}

impl Follower {
    pub(crate) fn from(path: &Path, position: u64) -> std::io::Result<Self> {
        Ok(Self { path: path.to_owned(), log: File::open(path)?, position })
    }

    /// The whole lines that came since the last time.
    pub(crate) fn added(&mut self) -> std::io::Result<String> {
        let mut bytes = Vec::new();
        self.log.seek(SeekFrom::Start(self.position))?;
        (&mut self.log).take(TAIL_BYTES).read_to_end(&mut bytes)?;
        let newline = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        // A line without end is shown in pieces.
        let is_endless = bytes.len() as u64 == TAIL_BYTES;
        bytes.truncate(newline.unwrap_or(if is_endless { bytes.len() } else { 0 }));
        self.position += bytes.len() as u64;
        if bytes.is_empty() && self.is_begun_anew()? {
            self.log = File::open(&self.path)?;
            self.position = 0;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn is_begun_anew(&self) -> std::io::Result<bool> {
        let ours = self.log.metadata()?;
        // Between being put aside and being begun there is none.
        let Ok(current) = std::fs::metadata(&self.path) else { return Ok(false) };
        let is_other = (current.dev(), current.ino()) != (ours.dev(), ours.ino());
        Ok(is_other || current.len() < self.position)
    }
}

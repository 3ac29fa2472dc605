//! Files of this machine.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// The text of a small file.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<String, Failure> {
    let wrong = |error: std::io::Error| Failure::file(path, error);
    let mut text = String::new();
    let file = File::open(path).map_err(wrong)?;
    let read = file.take(limit + 1).read_to_string(&mut text).map_err(wrong)?;
    if read as u64 > limit {
        return Err(Failure::file(path, format!("is larger than {limit} bytes")));
    }
    Ok(text)
}

/// A folder that only its owner may enter; what is there already stays as it is.
pub(crate) fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path)
}

/// A new file that only its owner may read. What is there is never overwritten.
pub(crate) fn create_private(path: &Path, content: &[u8]) -> Outcome {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).map_err(|error| refused(path, error))?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(|error| Failure::file(path, error))
}

/// Why a new file could not be made.
pub(crate) fn refused(path: &Path, error: std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        return Failure::conflict(format!(
            "{} is there already; it is not overwritten, choose another name",
            path.display()
        ));
    }
    Failure::file(path, error)
}

/// Replaces `path` at once: a reader sees the old content or the new.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Outcome {
    replace_with(path, content, 0o644)
}

/// As [`replace`], by a file that only its owner may read.
pub(crate) fn replace_private(path: &Path, content: &[u8]) -> Outcome {
    replace_with(path, content, 0o600)
}

fn replace_with(path: &Path, content: &[u8], mode: u32) -> Outcome {
    let beside = with_ending(path, ".new");
    // What an interrupted command has left is nobody's.
    let _ = std::fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let wrong = |error: std::io::Error| Failure::file(path, error);
    let mut file = options.open(&beside).map_err(wrong)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(wrong)?;
    std::fs::rename(&beside, path).map_err(wrong)
}

/// `path` without links, as far as it is there: two names of one folder become the same.
pub(crate) fn without_links(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = whole.ancestors().find_map(|there| Some((there, there.canonicalize().ok()?)));
    match found {
        Some((there, real)) => match whole.strip_prefix(there) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => whole,
        },
        None => whole,
    }
}

/// `path` with `ending` after its name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes the names in the folder of `path` last, as far as the file system can.
pub(crate) fn sync_folder_of(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    if let Ok(folder) = File::open(folder) {
        // Some file systems refuse to sync a folder; the file itself is synced.
        let _ = folder.sync_all();
    }
}

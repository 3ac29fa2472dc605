//! How files of a workspace are named.

use std::fmt;

use super::replace::is_partial;
use crate::tool::ToolFault;
use crate::tools::show::is_hidden;

#[cfg(test)]
mod tests;

const MAX_BYTES: usize = 1_024;
const MAX_PARTS: usize = 32;
/// What file systems allow.
const MAX_PART_BYTES: usize = 255;

/// A path from the root of a workspace in its one spelling. That it names nothing outside is not
/// what keeps anybody inside: it is opened so that the kernel does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkPath(String);

impl WorkPath {
    /// The workspace itself.
    pub(crate) fn root() -> Self {
        Self(String::new())
    }

    /// Of a file or folder; nothing and `.` are the workspace itself.
    pub(crate) fn parse(written: &str) -> Result<Self, ToolFault> {
        if written.len() > MAX_BYTES {
            return Err(ToolFault::new(format!("a path has at most {MAX_BYTES} bytes")));
        }
        if written.starts_with('/') {
            return Err(ToolFault::new(
                "a path begins at the root of the workspace: write it without the first /",
            ));
        }
        let parts: Vec<_> =
            written.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.len() > MAX_PARTS {
            return Err(ToolFault::new(format!("a path has at most {MAX_PARTS} parts")));
        }
        for part in &parts {
            check(part)?;
        }
        Ok(Self(parts.join("/")))
    }

    /// What `parse` would never let through.
    #[cfg(test)]
    pub(super) fn unchecked(written: &str) -> Self {
        Self(written.to_owned())
    }

    /// Of a file.
    pub(crate) fn of_file(written: &str) -> Result<Self, ToolFault> {
        let path = Self::parse(written)?;
        if path.is_root() || written.ends_with('/') {
            return Err(ToolFault::new("this names a folder: name a file in the workspace"));
        }
        Ok(path)
    }

    /// What has this name in it.
    pub(crate) fn join(&self, name: &str) -> Result<Self, ToolFault> {
        Self::parse(&format!("{}/{name}", if self.is_root() { "." } else { &self.0 }))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is given to the kernel.
    pub(super) fn os(&self) -> &str {
        if self.is_root() { "." } else { &self.0 }
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// The folder that it is in, and its name there.
    pub(super) fn split(&self) -> (Self, &str) {
        match self.0.rsplit_once('/') {
            Some((folder, name)) => (Self(folder.to_owned()), name),
            None => (Self::root(), &self.0),
        }
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "the workspace" } else { &self.0 })
    }
}

fn check(part: &str) -> Result<(), ToolFault> {
    let refused = if part == ".." {
        "a path does not go up with ..: name it from the root of the workspace"
    } else if part.len() > MAX_PART_BYTES {
        "a name in a path has at most 255 bytes"
    } else if part.chars().any(is_hidden) {
        "a path has no control characters, and none that cannot be seen"
    } else if is_partial(part) {
        "names like this are those of files that are not whole yet: choose another one"
    } else if part.trim() != part {
        "a name in a path neither begins nor ends with a blank"
    } else {
        return Ok(());
    };
    Err(ToolFault::new(refused))
}

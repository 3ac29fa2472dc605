//! Where a node keeps its files, and what those are called that the daemon and its clients share.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// The socket of the local owner, in the data directory.
pub const SOCKET: &str = "palyra.sock";
/// The longest path of a data directory, in bytes: a longer one leaves no room for the socket, whose
/// path may have 103 bytes on the systems that allow the least.
pub const LONGEST_PATH: usize = 103 - SOCKET.len() - 1;
/// What the running daemon says about itself, in the data directory: a [`Running`].
pub const RUNTIME_FILE: &str = "runtime.json";
/// The variable that names the data directory.
pub const VARIABLE: &str = "PALYRA_DATA_DIR";
/// The log of a daemon in the background, in the data directory.
pub const LOG: &str = "log/palyrad.log";
/// A log that is larger is put aside, as the same name with `.1`, in place of the one before.
pub const LOG_BYTES: u64 = 16 << 20;
/// How long whoever stops a daemon waits for its end, in seconds. With its defaults it takes less.
pub const STOP_SECONDS: u64 = 60;
/// The variables that hold the key for blobs on S3. Their values are in no configuration file.
pub const S3_VARIABLES: [&str; 3] =
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// The part of the surroundings that says where programs keep their data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `XDG_DATA_HOME`; what is not an absolute path counts as not set.
    pub xdg_data_home: Option<OsString>,
    /// `HOME`; likewise.
    pub home: Option<OsString>,
}

/// The data directory: as told, or where the platform keeps the data of programs. None if neither
/// says anything.
pub fn locate(told: Option<PathBuf>, around: Surroundings) -> Option<PathBuf> {
    // What is not an absolute path would put the data wherever the program happens to be started.
    let absolute =
        |folder: Option<OsString>| folder.map(PathBuf::from).filter(|it| it.is_absolute());
    let below_home = |below: &str| absolute(around.home).map(|home| home.join(below));
    told.or_else(|| {
        let of_platform = match absolute(around.xdg_data_home) {
            Some(folder) => Some(folder),
            None if cfg!(target_os = "macos") => below_home("Library/Application Support"),
            None => below_home(".local/share"),
        };
        of_platform.map(|folder| folder.join("palyra"))
    })
}

/// What a running daemon says about itself in [`RUNTIME_FILE`]; removed when it stops in order.
///
/// After a crash the file stays, so it says where to ask, not whether somebody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The process id.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// The address of the console and the HTTP API.
    pub http: String,
    /// The address of the gRPC API.
    pub grpc: String,
    /// The socket of the local owner.
    pub socket: PathBuf,
    /// When it started.
    pub started_at: Timestamp,
    /// The options that it was started with, but for the data directory. Whoever starts it again
    /// after a crash can give it the same.
    #[serde(default)]
    pub options: Vec<String>,
    /// The names of the variables that it was started with. Their values may be secret.
    #[serde(default)]
    pub variables: Vec<String>,
}

/// What a daemon with a given configuration needs that is not in its data directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    /// The folders that it writes to.
    pub folders: Vec<PathBuf>,
    /// Whether it reads [`S3_VARIABLES`].
    pub s3: bool,
}

//! The command line.

use std::path::PathBuf;

use clap::Parser;
use palyra_storage::StorageUrl;

/// The Palyra daemon.
///
/// Without any option it keeps one SQLite file in the data directory of the platform and works
/// until it gets SIGTERM or Ctrl-C.
///
/// Example: palyrad --data-dir /srv/palyra
#[derive(Debug, Clone, Parser)]
#[command(name = "palyrad", version, verbatim_doc_comment)]
pub(crate) struct Flags {
    /// Where this node keeps its files
    #[arg(long, value_name = "FOLDER", env = "PALYRA_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// The configuration file; without this option, palyra.toml in the data directory if there is
    /// one
    #[arg(long, value_name = "FILE", env = "PALYRA_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// A database that several nodes share, as postgres://…, instead of the SQLite file
    #[arg(long, value_name = "URL", env = "PALYRA_STORAGE_URL", hide_env_values = true)]
    pub(crate) storage_url: Option<StorageUrl>,

    /// What is logged: error, warn, info, debug or trace, also for single modules, as in
    /// warn,palyra_storage=debug
    #[arg(long, value_name = "LEVEL", env = "PALYRA_LOG", default_value = "info")]
    pub(crate) log: String,
}

impl Flags {
    /// The data directory: as told, or where the platform keeps the data of programs.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        let of_home =
            |below: &str| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below));
        let of_platform = || match std::env::var_os("XDG_DATA_HOME") {
            Some(folder) if !folder.is_empty() => Some(PathBuf::from(folder)),
            _ if cfg!(target_os = "macos") => of_home("Library/Application Support"),
            _ => of_home(".local/share"),
        };
        self.data_dir.clone().or_else(|| of_platform().map(|folder| folder.join("palyra")))
    }
}

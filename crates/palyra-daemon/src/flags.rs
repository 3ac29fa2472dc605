//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use palyra_common::data_dir::{self, Surroundings};
use palyra_common::hint::Address;
use palyra_common::shapes;
use palyra_storage::StorageUrl;

use crate::config::Given;
use crate::failure::Failure;

/// The Palyra daemon.
///
/// Without any option it keeps one SQLite file in the data directory of the platform, prints where
/// to log in, and works until it gets SIGTERM or Ctrl-C.
///
/// Example: palyrad --data-dir /srv/palyra
#[derive(Debug, Clone, Parser)]
#[command(name = "palyrad", version, verbatim_doc_comment, subcommand_negates_reqs = true)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Where this node keeps its files
    #[arg(long, value_name = "FOLDER", env = "PALYRA_DATA_DIR", global = true, value_parser = whole_path())]
    pub(crate) data_dir: Option<PathBuf>,

    /// The configuration file; without this option, palyra.toml in the data directory if there is
    /// one
    #[arg(long, value_name = "FILE", env = "PALYRA_CONFIG", global = true, value_parser = whole_path())]
    pub(crate) config: Option<PathBuf>,

    /// The address of the console and the HTTP API [default: 127.0.0.1:7142]
    #[arg(long, value_name = "ADDRESS", global = true)]
    http_bind: Option<String>,

    /// The address of the gRPC API [default: 127.0.0.1:7443]
    #[arg(long, value_name = "ADDRESS", global = true)]
    grpc_bind: Option<String>,

    /// A database that several nodes share, as postgres://…, instead of the SQLite file; one with a
    /// password belongs in the configuration file or in PALYRA_STORAGE_URL
    #[arg(long, value_name = "URL", global = true)]
    storage_url: Option<StorageUrl>,

    /// How much is logged: error, warn, info, debug or trace, also for single modules, as in
    /// warn,palyra_storage=debug [default: info]
    #[arg(long, value_name = "LEVEL", global = true)]
    log_level: Option<String>,
}

/// What is done instead of serving.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Look at the configuration, check it or change it
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make the checks of the deployment profile and tell what they saw
    Preflight {
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore a backup into an empty data directory or Postgres database, and exit; or go back to a
    /// copy that was kept before a migration
    ///
    /// Such a copy, palyra.db.schema-N.copy, takes the place of the SQLite file in its data directory,
    /// and is migrated if this version is newer; the database that was there is kept as
    /// palyra.db.replaced-N.
    ///
    /// All of it is checked on the way; nothing is left of a backup that is not whole. Logins that
    /// the backup holds are ended, messages that had not gone out wait for somebody to decide, and
    /// those that had come in and were undecided are not answered.
    Restore {
        /// The backup or copy
        file: PathBuf,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that a backup is whole and its audit trail unbroken, or that a copy is whole
    VerifyBackup {
        /// The backup or copy
        file: PathBuf,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Decide anew what an exported tape of a run has recorded, and tell as JSON whether it is the same
    ReplayTape {
        /// The tape
        file: PathBuf,
    },
    /// Print a description of the HTTP API, as OpenAPI
    Openapi,
}

/// About the configuration, without a daemon.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every option that a start would use, as JSON
    Show,
    /// Check a file, or what a start would use
    Validate {
        /// The file to check alone
        file: Option<PathBuf>,
    },
    /// Set an option in the file
    Set {
        /// Its name, as http.bind
        key: String,
        /// Its value, as in the environment; a list is written with commas; - reads it from
        /// standard input
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove an option from the file
    Unset {
        /// Its name
        key: String,
    },
    /// Print what a start needs beside the data directory, as JSON: folders, and a key for S3
    Outside,
    /// Print an example with every option
    Example,
}

/// A path as it reads from here: whoever is told of it may be in another folder.
fn whole_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(std::path::absolute::<PathBuf>)
}

impl Flags {
    /// The data directory: as told, or where the platform keeps the data of programs.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        let around = Surroundings {
            xdg_data_home: std::env::var_os("XDG_DATA_HOME"),
            home: std::env::var_os("HOME"),
        };
        data_dir::locate(self.data_dir.clone(), around)
    }

    /// What leads a command to this daemon, unless it is led there anyway.
    pub(crate) fn address(&self) -> Address {
        let known = std::env::var_os(data_dir::VARIABLE).map(PathBuf::from);
        let usual = Self { data_dir: known, ..self.clone() }.data_dir();
        let own = self.data_dir().filter(|folder| Some(folder) != usual.as_ref());
        Address::new(own.map(|folder| folder.display().to_string()).as_deref(), None)
    }

    /// Refuses what every process of the machine could read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        const KEY: &str = "storage.url";
        let url = self.storage_url.as_ref().map(StorageUrl::expose).unwrap_or_default();
        if !shapes::could_hold_password(KEY, url) {
            return Ok(());
        }
        let what = "--storage-url holds a password, and every process of the machine can read an \
                    argument; set it with `palyra config set storage.url -`, which asks for it, or \
                    give it in the variable PALYRA_STORAGE_URL";
        Err(Failure::Option { what: what.into() })
    }

    /// What the command line and the environment say about options.
    pub(crate) fn given(&self) -> Given {
        let url = self.storage_url.as_ref().map(|url| url.expose().to_owned());
        let flags = [
            ("http.bind", self.http_bind.clone()),
            ("grpc.bind", self.grpc_bind.clone()),
            ("storage.url", url),
            ("log.level", self.log_level.clone()),
        ];
        let flags = flags.into_iter().filter_map(|(key, text)| Some((key, text?)));
        let env = std::env::vars_os().filter_map(|(name, text)| {
            let name = name.into_string().ok()?;
            // What is not UTF-8 is refused like any other value that does not fit.
            name.starts_with("PALYRA_").then(|| (name, text.to_string_lossy().into_owned()))
        });
        let flags: BTreeMap<_, _> = flags.collect();
        Given { file: self.config.clone(), env: env.collect(), flags }
    }
}

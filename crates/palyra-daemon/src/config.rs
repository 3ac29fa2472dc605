//! `palyra.toml`. Every option is in `docs/palyra.example.toml`, with its default.

use std::path::Path;

use palyra_storage::StorageConfig;
use serde::Deserialize;

use crate::failure::Failure;
use crate::flags::Flags;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Where data is kept.
    pub(crate) storage: StorageConfig,
}

/// Defaults, then the file, then the environment and the command line.
pub(crate) fn load(flags: &Flags, data_dir: &Path) -> Result<Config, Failure> {
    let in_data_dir = data_dir.join("palyra.toml");
    let mut config = match &flags.config {
        Some(path) => read(path)?,
        None if in_data_dir.exists() => read(&in_data_dir)?,
        None => Config::default(),
    };
    if let Some(url) = &flags.storage_url {
        config.storage.url = url.clone();
    }
    Ok(config)
}

fn read(path: &Path) -> Result<Config, Failure> {
    let wrong = |what: String| Failure::Config { path: path.to_owned(), what };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests;

//! `palyrad config`: the configuration without a running daemon.

use std::path::Path;
use std::process::ExitCode;

use palyra_common::api::ConfigChange;
use serde::Serialize;

use crate::config::{self, Given};
use crate::failure::Failure;
use crate::flags::{ConfigCommand, Flags};
use crate::{print, settings};

pub(crate) fn run(flags: &Flags, command: &ConfigCommand) -> Result<ExitCode, Failure> {
    let folder = || flags.data_dir().ok_or(Failure::NoDataDir);
    let given = flags.given();
    match command {
        ConfigCommand::Example => print(&config::example()),
        ConfigCommand::Show => print(&json(&config::load(&given, &folder()?)?.view())),
        ConfigCommand::Validate { file } => {
            let given = match file {
                // The file alone: what it lacks must not be hidden by the surroundings.
                Some(file) => Given { file: Some(file.clone()), ..Given::default() },
                None => given,
            };
            let folder = if file.is_some() { Path::new(".").to_owned() } else { folder()? };
            let loaded = config::load(&given, &folder)?;
            print(&format!("{}: the configuration can be used\n", loaded.file.display()));
        }
        ConfigCommand::Set { key, value } => {
            let value = config::value_of(key, value)?;
            let set = [(key.clone(), value)].into();
            change(&given, &folder()?, ConfigChange { set, unset: Vec::new() })?;
        }
        ConfigCommand::Unset { key } => {
            let change_ = ConfigChange { unset: vec![key.clone()], ..ConfigChange::default() };
            change(&given, &folder()?, change_)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn change(given: &Given, folder: &Path, change: ConfigChange) -> Result<(), Failure> {
    let before = config::load(given, folder)?;
    let text = config::edited(&before.file, before.text(), &change)?;
    let after = config::layered(given, before.file.clone(), &text)?;
    config::write(&before.file, &text).map_err(|error| Failure::Config {
        path: before.file.clone(),
        what: format!("cannot be written: {error}"),
    })?;
    let keys: Vec<String> = change.set.into_keys().chain(change.unset).collect();
    print(&json(&settings::outcome(&after, &keys)));
    Ok(())
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

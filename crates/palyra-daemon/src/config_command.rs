//! `palyrad config`: the configuration without a running daemon.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use palyra_common::api::ConfigChange;
use palyra_common::data_dir::Outside;
use palyra_common::{ErrorCode, StableErrorEnvelope, shapes};
use serde::Serialize;

use crate::config::{self, Config, Edited, Given, Loaded};
use crate::failure::Failure;
use crate::flags::{ConfigCommand, Flags};
use crate::{deployment, print, settings, standing};

/// No value is larger.
const VALUE_BYTES: u64 = 128 << 10;
/// How a warning begins; the command line looks for it.
const WARNING: &str = "palyrad: warning: ";

pub(crate) fn run(flags: &Flags, command: &ConfigCommand) -> Result<ExitCode, Failure> {
    let folder = || flags.data_dir().ok_or(Failure::NoDataDir);
    let given = flags.given();
    match command {
        ConfigCommand::Example => print(&config::example()),
        ConfigCommand::Outside => {
            print(&json(&outside(&config::load(&given, &folder()?)?.config)));
        }
        ConfigCommand::Show => print(&json(&config::load(&given, &folder()?)?.view())),
        // The file alone: what it lacks must not be hidden by the surroundings, of which it says
        // nothing.
        ConfigCommand::Validate { file: Some(file) } => {
            let loaded = config::load_alone(file)?;
            if let Err(failure) = standing::check_config(file) {
                warn(failure.envelope().message());
            }
            can_be_used(&loaded);
        }
        ConfigCommand::Validate { file: None } => {
            let loaded = config::load(&given, &folder()?)?;
            deployment::check(&loaded.config)?;
            loaded.strange_env.iter().for_each(|name| warn(&strange(name)));
            can_be_used(&loaded);
        }
        ConfigCommand::Set { key, value } => {
            let value = config::value_of(key, &given_value(key, value)?)?;
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

/// The value, which `-` has read from standard input, without a newline at its end.
fn given_value(key: &str, value: &str) -> Result<String, Failure> {
    let refuse = |what: String| Err(Failure::Option { what });
    if value != "-" {
        if !shapes::could_hold_password(key, value) {
            return Ok(value.to_owned());
        }
        return refuse(format!(
            "{key}: the value holds a password, and every process of the machine can read an \
             argument; pipe it into config set {key} -"
        ));
    }
    let mut text = String::new();
    let most = VALUE_BYTES + 1;
    match std::io::stdin().lock().take(most).read_to_string(&mut text) {
        Err(_) => refuse(format!("{key}: the value on standard input is not text")),
        Ok(_) if text.len() as u64 == most => refuse(format!("{key}: the value is too large")),
        Ok(_) => Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned()),
    }
}

/// Whoever confines the daemon has to leave it these.
fn outside(config: &Config) -> Outside {
    let key = config.vault.key_file.parent().map(Path::to_owned);
    let key = key.filter(|folder| !folder.as_os_str().is_empty());
    let named = [config.storage.blobs_folder(), config.agents.workspaces_folder(), key];
    Outside { folders: named.into_iter().flatten().collect(), s3: config.storage.blobs_on_s3() }
}

fn can_be_used(loaded: &Loaded) {
    print(&format!("{}: the configuration can be used\n", loaded.file.display()));
}

fn strange(variable: &str) -> String {
    let near = config::nearest_variable(variable);
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    format!("the variable {variable} looks like an option and is none{near}")
}

/// On standard error, where what was asked for does not go.
fn warn(what: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = std::io::stderr().write_all(format!("{WARNING}{what}\n").as_bytes());
}

fn change(given: &Given, folder: &Path, change: ConfigChange) -> Result<(), Failure> {
    // Nothing is made for what is refused or there already.
    let mut planned = Planned::of(given, folder, &change)?;
    if planned.text != planned.before {
        let _one_at_a_time = config::lock(&planned.file)?;
        // Somebody may have changed it until now.
        planned = Planned::of(given, folder, &change)?;
        config::write(&planned.file, &planned.text)
            .map_err(|error| Failure::Unwritable { path: planned.file.clone(), error })?;
    }
    let keys: Vec<String> = change.set.into_keys().chain(change.unset).collect();
    let after = planned.after.map_err(|failure| still_unusable(&keys, &failure))?;
    let mut changed = settings::outcome(&after, &keys, planned.not_set);
    // Nobody runs who could have put it into force.
    changed.needs_restart.append(&mut changed.applied);
    print(&json(&changed));
    Ok(())
}

/// What a change would make of the file.
struct Planned {
    file: PathBuf,
    before: String,
    text: String,
    not_set: Vec<String>,
    /// What a start would use then.
    after: Result<Loaded, Failure>,
}

impl Planned {
    fn of(given: &Given, folder: &Path, change: &ConfigChange) -> Result<Self, Failure> {
        let (file, before) = config::read(given, folder)?;
        let Edited { text, not_set } = config::edited(&file, &before, change)?;
        let was = config::layered(given, file.clone(), &before).ok();
        let after = config::layered(given, file.clone(), &text);
        let only_removes = change.set.is_empty() && text != before;
        // What cannot be used is made better step by step; what can be used is not made worse.
        let may_fail = only_removes && was.is_none();
        let after = match after {
            Err(failure) if !may_fail => return Err(failure),
            after => after,
        };
        if let Ok(after) = &after {
            let was = was.as_ref().map(|was| &*was.config);
            deployment::check_change(change, was, &after.config)?;
        }
        Ok(Self { file, before, text, not_set, after })
    }
}

fn still_unusable(removed: &[String], failure: &Failure) -> Failure {
    let left = failure.envelope();
    let what = format!(
        "{} is removed; what is left cannot be used yet: {}",
        removed.join(", "),
        left.message()
    );
    let code = left.known_code().unwrap_or(ErrorCode::ConfigInvalid);
    Failure::Refused(StableErrorEnvelope::new(code, what))
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

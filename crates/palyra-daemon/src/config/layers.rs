//! Defaults, then the file, then the environment, then the command line.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palyra_common::text::without_quotations;
use toml::de::DeTable;
use toml::{Table, Value};

use super::{Config, options, told, value};
use crate::failure::Failure;
use crate::standing;

/// The configuration file in the data directory.
pub(crate) const FILE_NAME: &str = "palyra.toml";

/// More than any configuration has a reason to hold.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// What comes from outside of the file.
#[derive(Clone, Default)]
pub(crate) struct Given {
    /// The file that was named; otherwise the one in the data directory, if it is there.
    pub(crate) file: Option<PathBuf>,
    /// `PALYRA_…` variables.
    pub(crate) env: BTreeMap<String, String>,
    /// Options of the command line, by their key.
    pub(crate) flags: BTreeMap<&'static str, String>,
}

/// Which layer a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File,
    Environment,
    CommandLine,
}

impl Origin {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::CommandLine => "command_line",
        }
    }
}

/// A configuration that can be used, and how it came about.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) config: Arc<Config>,
    /// The file that was read, or that would be.
    pub(crate) file: PathBuf,
    /// What the file held; empty if there is none.
    text: Arc<str>,
    origins: BTreeMap<String, Origin>,
    /// Variables that look like options and are none.
    pub(crate) strange_env: Vec<String>,
}

impl Loaded {
    pub(crate) fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).copied().unwrap_or(Origin::Default)
    }

    /// What the file held.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Variables with our prefix that are no options.
const OTHER_ENV: [&str; 3] = ["PALYRA_DATA_DIR", "PALYRA_CONFIG", "PALYRA_VAULT_PASSPHRASE"];
/// Variables of tests.
const TEST_PREFIXES: [&str; 3] = ["PALYRA_TEST", "PALYRA_CRASH", "PALYRA_CHAOS"];

/// Reads the file and puts the other layers on it.
pub(crate) fn load(given: &Given, data_dir: &Path) -> Result<Loaded, Failure> {
    let (file, text) = read(given, data_dir)?;
    layered(given, file, &text)
}

/// A file alone, wherever it is: it is looked at, and nothing is done by it.
pub(crate) fn load_alone(file: &Path) -> Result<Loaded, Failure> {
    let text = read_file(file).map_err(|error| unreadable(file, &error))?;
    layered(&Given::default(), file.to_owned(), &text)
}

/// The file and what it holds, whether it can be used or not; nothing if it is not there. Refused
/// where others can change it.
pub(crate) fn read(given: &Given, data_dir: &Path) -> Result<(PathBuf, String), Failure> {
    let file = given.file.clone().unwrap_or_else(|| data_dir.join(FILE_NAME));
    // Where no file was named there may be none; a link to nothing is a mistake all the same.
    if given.file.is_none() && file.symlink_metadata().is_err_and(|error| is_absent(&error)) {
        return Ok((file, String::new()));
    }
    let text = read_file(&file).map_err(|error| unreadable(&file, &error))?;
    standing::check_config(&file)?;
    Ok((file, text))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::Config { path: file.to_owned(), what: error.to_string() }
}

fn is_absent(error: &io::Error) -> bool {
    // A data directory that is none is told by whoever opens it.
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads a plain file of a bounded size: nothing that never ends, and nothing that waits.
fn read_file(path: &Path) -> io::Result<String> {
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    std::fs::read_to_string(path)
}

/// The same for a file that holds `text`.
pub(crate) fn layered(given: &Given, file: PathBuf, text: &str) -> Result<Loaded, Failure> {
    let mut origins = BTreeMap::new();
    let mut values = options::defaults();
    for (key, value) in read_text(&file, text)? {
        put(&mut values, &key, value);
        origins.insert(key, Origin::File);
    }
    for option in options::all() {
        // An empty variable is one that nobody filled in, as env files have them.
        let env = option.env().and_then(|name| given.env.get(&name));
        let env = env.filter(|text| !text.trim().is_empty());
        let env = env.map(|text| (text, Origin::Environment));
        let flag = given.flags.get(&*option.key).map(|text| (text, Origin::CommandLine));
        if let Some((text, origin)) = flag.or(env) {
            let value = value::read(text, &option.default);
            check_alone(option, &option.key, &value, origin)?;
            put(&mut values, &option.key, value);
            origins.insert(option.key.clone(), origin);
        }
    }
    let config: Config = values.try_into().map_err(|error: toml::de::Error| Failure::Option {
        what: without_quotations(error.message()),
    })?;
    config.check()?;
    if origins.contains_key("http.max_requests_per_principal") {
        config.http.check_share()?;
    }
    let strange_env = strange(&given.env);
    Ok(Loaded { config: Arc::new(config), file, text: text.into(), origins, strange_env })
}

/// The options that a file sets, each with its value.
fn read_text(path: &Path, text: &str) -> Result<Vec<(String, Value)>, Failure> {
    let wrong = |error: toml::de::Error| {
        let what = told::mistake(text, &error);
        Failure::Config { path: path.to_owned(), what }
    };
    let spanned = DeTable::parse(text).map_err(wrong)?;
    if let Some((key, span)) = unknown_key(spanned.get_ref()) {
        let nearest = options::nearest(&key);
        let place = format!("{}: {}", path.display(), told::place(text, &span));
        return Err(Failure::UnknownKey { place, key, nearest });
    }
    // For the sake of its messages, which know where a value of the wrong type stands.
    toml::from_str::<Config>(text).map_err(wrong)?;
    let sections: Table = toml::from_str(text).map_err(wrong)?;
    let mut values = Vec::new();
    for (section, options) in sections {
        if let Value::Table(options) = options {
            flatten(&section, options, &mut values);
        }
    }
    Ok(values)
}

/// The options in a table and in those within it. A table that is empty is kept: something that the
/// operator names may have the defaults alone.
fn flatten(table: &str, options: Table, values: &mut Vec<(String, Value)>) {
    for (name, value) in options {
        let key = format!("{table}.{name}");
        match value {
            Value::Table(inner) if !inner.is_empty() => flatten(&key, inner, values),
            value => values.push((key, value)),
        }
    }
}

/// The first key that is no option, and where it stands.
fn unknown_key(table: &DeTable<'_>) -> Option<(String, Range<usize>)> {
    table.iter().find_map(|(section, inner)| {
        let name = section.get_ref().as_ref();
        if !options::is_part(name) {
            return Some((name.to_owned(), section.span()));
        }
        // A section of the wrong type is told elsewhere.
        unknown_within(name, inner.get_ref().as_table()?)
    })
}

fn unknown_within(table: &str, inner: &DeTable<'_>) -> Option<(String, Range<usize>)> {
    inner.iter().find_map(|(name, value)| {
        let key = format!("{table}.{}", name.get_ref());
        match value.get_ref().as_table() {
            _ if options::find(&key).is_some() => None,
            Some(inner) if options::is_part(&key) => unknown_within(&key, inner),
            // It is a table that has another value.
            None if options::is_part(&key) => None,
            Some(_) | None => Some((key, name.span())),
        }
    })
}

/// What stands under `key`.
pub(super) fn at<'a>(values: &'a Table, key: &str) -> Option<&'a Value> {
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let tables = tables.split('.').filter(|part| !part.is_empty());
    tables.into_iter().try_fold(values, |table, part| table.get(part)?.as_table())?.get(name)
}

fn put(values: &mut Table, key: &str, value: Value) {
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = values;
    for part in tables.split('.').filter(|part| !part.is_empty()) {
        let inner = table.entry(part.to_owned()).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = inner else { return };
        table = inner;
    }
    table.insert(name.to_owned(), value);
}

/// Refuses a value by the name that was used where it was given.
pub(super) fn check_alone(
    option: &options::ConfigOption,
    key: &str,
    value: &Value,
    origin: Origin,
) -> Result<(), Failure> {
    let mut alone = options::defaults();
    put(&mut alone, key, value.clone());
    let Err(error) = alone.try_into::<Config>() else {
        return Ok(());
    };
    let name = match origin {
        Origin::Environment => option.env().unwrap_or_default(),
        Origin::CommandLine => format!("--{}", option.key.replace(['.', '_'], "-")),
        Origin::Default | Origin::File => key.to_owned(),
    };
    let what = told::plain_words(&without_quotations(error.message()));
    Err(Failure::Option { what: format!("{name}: {what}") })
}

fn strange(env: &BTreeMap<String, String>) -> Vec<String> {
    let known = |name: &str| {
        OTHER_ENV.contains(&name)
            || TEST_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || options::all().iter().any(|option| option.env().as_deref() == Some(name))
    };
    env.keys().filter(|name| !known(name)).cloned().collect()
}

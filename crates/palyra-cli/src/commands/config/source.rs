//! Where the configuration is read: from the daemon, or without one from what a start would use.

use palyra_client::{Client, ClientError};
use palyra_common::api::{ConfigOption, ConfigView};
use palyra_common::{ErrorCode, text};
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::printable;
use crate::palyrad;

/// The configuration in force.
pub(crate) async fn view(context: &Context) -> Result<ConfigView, Failure> {
    match daemon(context).await? {
        Some((view, ..)) => Ok(view),
        None => palyrad::ask(context, &["config".as_ref(), "show".as_ref()]),
    }
}

/// The configuration of the daemon with its tag, if one runs.
pub(crate) async fn daemon(
    context: &Context,
) -> Result<Option<(ConfigView, Box<Client>, Option<String>)>, Failure> {
    let client = context.client()?;
    match client.config().await {
        Ok((view, tag)) => Ok(Some((view, Box::new(client), tag))),
        Err(ClientError::NotRunning { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The option `key`.
pub(crate) fn option<'a>(view: &'a ConfigView, key: &str) -> Result<&'a ConfigOption, Failure> {
    view.option(key).ok_or_else(|| Failure::new(ErrorCode::CommonNotFound, unknown(view, key)))
}

/// What is said of a name that is no option: which one it was to be, or those of its section.
fn unknown(view: &ConfigView, key: &str) -> String {
    let keys = || view.options.iter().map(|option| option.key.as_str());
    if let Some(near) = text::nearest(key, keys()) {
        return format!("there is no option {key}; did you mean {near}?");
    }
    let Some(section) = text::nearest(section(key), keys().map(section)) else {
        return format!("there is no option {key}; `palyra config show` lists all");
    };
    let all: Vec<_> = keys().filter(|key| self::section(key) == section).collect();
    format!("there is no option {key}; in section {section} there are {}", all.join(", "))
}

fn section(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// The value from the next start on, where it is another.
pub(crate) fn next(option: &ConfigOption) -> Option<String> {
    let next = option.next.as_ref().map(plain);
    next.map(|next| if next.is_empty() { "not set".into() } else { printable(&next).into_owned() })
}

/// A value for people: texts without quotes, lists with commas, as they are written in `set`.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
    }
}

//! Where the configuration is read: from the daemon, or without one from what a start would use.

use palyra_client::{Client, ClientError};
use palyra_common::ErrorCode;
use palyra_common::api::{ConfigOption, ConfigView};
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
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
    view.options.iter().find(|option| option.key == key).ok_or_else(|| {
        let start = key.split('.').next().unwrap_or(key);
        let near = view.options.iter().filter(|option| option.key.split('.').next() == Some(start));
        let near: Vec<_> = near.map(|option| option.key.as_str()).collect();
        let told = match near.as_slice() {
            [] => format!("there is no option {key}; `palyra config show` lists all"),
            near => format!("there is no option {key}; there are {}", near.join(", ")),
        };
        Failure::new(ErrorCode::CommonNotFound, told)
    })
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

//! `palyra config set`

use palyra_common::api::{ConfigChange, ConfigChanged, ConfigOption, ConfigView};
use serde_json::Value;

use super::change;
use super::source;
use crate::argument::refuse_password;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::{palyrad, prompt};

#[cfg(test)]
mod tests;

const VALUE_BYTES: usize = 64 << 10;

/// Set an option in the configuration file
///
/// The value is checked first, and whether a start would take all of the configuration then: what a
/// deployment profile demands is set before it. A running daemon takes it over at once where it can,
/// and says where it needs a restart. A value with a password in it is refused as an argument.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra config set log.level debug
  palyra config set http.hosts palyra.example,localhost
  palyra config set storage.url - < url.txt        a value that others must not see"
)]
pub(crate) struct Arguments {
    /// Its name, as http.bind
    key: String,
    /// Its value, a list with commas; - reads it from a hidden prompt or standard input
    #[arg(allow_hyphen_values = true)]
    value: String,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { key, value } = arguments;
    refuse_password(&key, &value)?;
    let Some((view, client, tag)) = source::daemon(context).await? else {
        return in_file(context, &key, value);
    };
    let option = source::option(&view, &key)?;
    let text = given(context, &key, value)?;
    let set = [(key, typed(option, &text)?)].into();
    let change = ConfigChange { set, unset: Vec::new() };
    let changed = client.change_config(&change, tag.as_deref()).await?;
    change::show(context, &changed, change::text)
}

/// The value, which `-` has read from a prompt or standard input.
fn given(context: &Context, key: &str, value: String) -> Result<String, Failure> {
    if value != "-" {
        return Ok(value);
    }
    prompt::secret(context.out(), &format!("Value of {key}: "), VALUE_BYTES)
}

/// Without a daemon.
fn in_file(context: &Context, key: &str, value: String) -> Outcome {
    // A file that cannot be used shows nothing; what is set may repair it.
    let shown = palyrad::ask::<ConfigView>(context, &["config", "show"].map(AsRef::as_ref));
    if let Ok(view) = shown {
        source::option(&view, key)?;
    }
    let text = given(context, key, value)?;
    let arguments = ["config", "set", "--", key, "-"].map(AsRef::as_ref);
    let changed: ConfigChanged = palyrad::ask_reading(context, &arguments, text)?;
    change::show(context, &changed, change::text_for_start)
}

/// `text` as a value of the kind that the option's default has.
fn typed(option: &ConfigOption, text: &str) -> Result<Value, Failure> {
    let wrong = |kind: &str| Failure::asked(format!("{} is {kind}", option.key));
    match &option.default {
        Value::String(_) => Ok(text.into()),
        Value::Bool(_) => text.parse::<bool>().map(Value::from).map_err(|_| wrong("true or false")),
        Value::Number(_) => {
            text.parse::<serde_json::Number>().map(Value::Number).map_err(|_| wrong("a number"))
        }
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(items.collect())
        }
        Value::Object(_) => serde_json::from_str(text).map_err(|_| wrong("a JSON object")),
        Value::Null => Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
    }
}

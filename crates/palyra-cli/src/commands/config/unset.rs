//! `palyra config unset`

use palyra_common::ErrorCode;
use palyra_common::api::{ConfigChange, ConfigChanged};

use super::change;
use super::source;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::palyrad;

/// Remove an option from the configuration file, so that it has its default
///
/// Removes also what is no option, for which the daemon refuses to start. Exits with 5 when the
/// file does not set it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra config unset log.level
  palyra config unset log.levle                a mistyped name that is in the file"
)]
pub(crate) struct Arguments {
    /// Its name, as http.bind
    key: String,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { key } = arguments;
    let daemon = source::daemon(context).await?;
    let (changed, text): (ConfigChanged, change::Text) = match daemon {
        Some((view, client, tag)) if context.is_remote() || source::option(&view, &key).is_ok() => {
            let change = ConfigChange { set: [].into(), unset: vec![key.clone()] };
            (client.change_config(&change, tag.as_deref()).await?, change::text)
        }
        // The daemon knows the options of its version only, so what is none stands in the file.
        Some((view, ..)) => {
            if !std::path::Path::new(&view.file).exists() {
                source::option(&view, &key)?;
            }
            let asked = ["--config", &view.file, "config", "unset", "--", &key].map(AsRef::as_ref);
            (palyrad::ask(context, &asked)?, change::text_for_start)
        }
        None => {
            let asked = ["config", "unset", "--", &key].map(AsRef::as_ref);
            (palyrad::ask(context, &asked)?, change::text_for_start)
        }
    };
    if changed.not_set.contains(&key) {
        let told = format!("{key} is not set in {}; nothing was changed", changed.file);
        return Err(Failure::new(ErrorCode::CommonNotFound, told));
    }
    change::show(context, &changed, text)
}

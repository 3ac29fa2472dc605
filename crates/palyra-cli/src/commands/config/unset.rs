//! `palyra config unset`

use palyra_common::api::ConfigChange;

use super::change;
use super::source::{self, Source};
use crate::context::Context;
use crate::failure::Outcome;
use crate::palyrad;

/// Remove an option from the configuration file, so that it has its default
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  palyra config unset log.level")]
pub(crate) struct Arguments {
    /// Its name, as http.bind
    key: String,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let (view, source) = source::view(context).await?;
    source::option(&view, &arguments.key)?;
    let changed = match source {
        Source::Daemon(client, tag) => {
            let change = ConfigChange { set: [].into(), unset: vec![arguments.key] };
            client.change_config(&change, tag.as_deref()).await?
        }
        Source::File => {
            let arguments = ["config", "unset", "--", &arguments.key].map(AsRef::as_ref);
            palyrad::ask(context, &arguments)?
        }
    };
    context.out().show(&changed, change::text)
}

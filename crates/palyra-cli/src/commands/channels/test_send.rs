//! `palyra channels test-send`

use palyra_common::api::NewMessage;
use palyra_common::ids::{ConnectorId, ConversationId};

use super::follow;
use crate::context::Context;
use crate::failure::Outcome;

const TEXT: &str = "This is a test message from Palyra.";

/// Send a test message to a conversation, and wait until it has arrived
///
/// Exits with 7 when it has not.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels test-send echo:default general"
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// Where to
    #[arg(value_name = "CONVERSATION")]
    conversation: ConversationId,
    /// How long to wait at most
    #[arg(long, value_name = "TIME", default_value = "30s")]
    wait: palyra_common::Duration,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, conversation, wait } = arguments;
    let (out, client) = (context.out(), context.client()?);
    let new = NewMessage { conversation, text: TEXT.to_owned(), envelope: None };
    let state = follow::send(out, &client, &channel, new, wait).await?;
    out.show(&state, follow::text)?;
    follow::outcome(out, &client, &channel, &state).await
}

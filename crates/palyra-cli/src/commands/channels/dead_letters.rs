//! `palyra channels dead-letters`

use palyra_client::{DeadLetterDecision, Waiting};
use palyra_common::api::{Changed, DeadLetter, ReplayMany};
use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::runtime_contracts::{DeadLetterReason, OutboxState, RetryClass};

use super::entries::{Entry, PageArguments, decided, list};
use crate::context::Context;
use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, printable};
use crate::prompt;
use crate::table::Table;

/// What is replayed, or has been.
const REPLAYED: [OutboxState; 3] = [OutboxState::Dead, OutboxState::Pending, OutboxState::Sending];
/// What is discarded, or has been.
const DISCARDED: [OutboxState; 2] = [OutboxState::Dead, OutboxState::Cancelled];

/// Look at messages that were given up, and replay or discard them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Show(ShowArguments),
    Replay(ReplayArguments),
    Discard(DiscardArguments),
}

/// List messages that were given up, the longest ago first
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels dead-letters list echo:default"
)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    page: PageArguments,
}

/// Show a message that was given up: why, part by part, and what it was to say
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels dead-letters show echo:default send-01HZ"
)]
pub(crate) struct ShowArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// The message
    #[arg(value_name = "MESSAGE")]
    message: EnvelopeId,
}

/// Send messages after all, under the names that they had
///
/// Parts that were given up with one before them are replayed with it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra channels dead-letters replay echo:default send-01HZ
  palyra channels dead-letters replay echo:default --all --reason attempts_exhausted --yes"
)]
pub(crate) struct ReplayArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// The message, or MESSAGE/PART; without one, the first part that was given up
    #[arg(value_name = "MESSAGE", required_unless_present = "all", conflicts_with = "all")]
    message: Option<Entry>,
    /// All of them, the oldest first
    #[arg(long)]
    all: bool,
    /// Only those that were given up for this reason
    #[arg(long, value_name = "REASON", requires = "all")]
    reason: Option<DeadLetterReason>,
    /// How many at most
    #[arg(long, value_name = "COUNT", requires = "all", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: Option<u32>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Close a message that was given up: it is not sent any more
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels dead-letters discard echo:default send-01HZ --yes"
)]
pub(crate) struct DiscardArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// The message, or MESSAGE/PART; without one, the first part that was given up
    #[arg(value_name = "MESSAGE")]
    message: Entry,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list(context, Waiting::DeadLetters, arguments.page).await,
        Command::Show(arguments) => show(context, arguments).await,
        Command::Replay(arguments) => replay(context, arguments).await,
        Command::Discard(arguments) => discard(context, arguments).await,
    }
}

async fn show(context: &Context, arguments: ShowArguments) -> Outcome {
    let ShowArguments { channel, message } = arguments;
    let letter = context.client()?.dead_letter(&channel, &message).await?;
    context.out().show(&letter, text)
}

fn text(out: &Output, letter: &DeadLetter) -> String {
    let parts = letter.parts.iter().map(|part| {
        let name = format!("{}/{}", printable(letter.envelope.as_str()), part.part);
        let mut table = Table::of_fields();
        table.field("conversation", part.conversation.as_str());
        table.field("given up", part.changed_at.to_string());
        table.field("because", part.reason.map_or("", DeadLetterReason::as_str));
        table.field("tries", part.attempts.to_string());
        table.field("last failed", part.class.map_or("", RetryClass::as_str));
        table.field("more", part.last_error.as_deref().unwrap_or_default());
        let operation = part.operation.as_ref().map(serde_json::Value::to_string);
        table.field("message", operation.unwrap_or_else(|| "you may not read it".into()));
        format!("{name}\n{}", table.render(out))
    });
    parts.collect()
}

async fn replay(context: &Context, arguments: ReplayArguments) -> Outcome {
    let ReplayArguments { channel, message, all, reason, limit, yes } = arguments;
    let (out, client) = (context.out(), context.client()?);
    if let Some(message) = message {
        let part = message.part(&client, &channel, &REPLAYED).await?;
        let (envelope, replay) = (&message.envelope, DeadLetterDecision::Replay);
        let done = client.decide_dead_letter(&channel, envelope, part, replay).await?;
        return out.show(&done, decided);
    }
    if !all {
        return Err(Failure::asked("name a message, or say --all"));
    }
    prompt::confirm(out, &format!("Send all messages of {channel} that were given up?"), yes)?;
    let progress = out.progress("{spinner} replaying, {elapsed}");
    let replayed = client.replay_many(&channel, &ReplayMany { reason, limit }).await;
    progress.finish_and_clear();
    out.show(&replayed?, |_, Changed { changed }| {
        format!("{}.\n", count::of(*changed, "message is replayed", "messages are replayed"))
    })
}

async fn discard(context: &Context, arguments: DiscardArguments) -> Outcome {
    let DiscardArguments { channel, message, yes } = arguments;
    let (out, client) = (context.out(), context.client()?);
    let part = message.part(&client, &channel, &DISCARDED).await?;
    let (envelope, discard) = (&message.envelope, DeadLetterDecision::Discard);
    let question = format!("Close {envelope}/{part}? It is not sent any more.");
    prompt::confirm(out, &question, yes)?;
    let done = client.decide_dead_letter(&channel, envelope, part, discard).await?;
    out.show(&done, decided)
}

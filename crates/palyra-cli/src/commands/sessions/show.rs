//! `palyra sessions show`

use palyra_common::api::{AgentSession, MessageRole, SessionMessage, ShownSurface};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::RunLifecyclePhase;
use serde::Serialize;

use super::list::place;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone, paragraphs, printable};
use crate::table::Table;

/// Show a conversation, what was said last, and what its agent shows now
///
/// People see the newest at the end; with --json it comes first.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra sessions show 01HZ3V9K8M2QF6T7Y4W5X6A7B8
  palyra sessions show 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --messages 100"
)]
pub(crate) struct Arguments {
    /// The session
    #[arg(value_name = "SESSION")]
    session: SessionId,
    /// How many messages at most
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=200))]
    messages: u32,
}

/// A conversation with what was said in it.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    session: AgentSession,
    messages: Vec<SessionMessage>,
    surfaces: Vec<ShownSurface>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let (client, id) = (context.client()?, arguments.session);
    let session = client.session(id).await?;
    let messages = client.session_messages(id, None, arguments.messages).await?.items;
    let surfaces = client.surfaces(id).await?.items;
    context.out().show(&Shown { session, messages, surfaces }, |out, shown| {
        let said = shown.messages.iter().rev().map(|message| said(out, message));
        let surfaces = shown.surfaces.iter().map(|surface| drawn(out, surface));
        fields(out, &shown.session) + &said.chain(surfaces).collect::<String>()
    })
}

pub(super) fn fields(out: &Output, session: &AgentSession) -> String {
    let title = match session.title.as_str() {
        "" => String::new(),
        title => format!(": {}", printable(title)),
    };
    let mut table = Table::of_fields();
    table.field("agent", session.agent.as_str());
    table.field("where", place(session));
    table.field("began", session.created_at.to_string());
    if let Some(from) = session.forked_from {
        table.field("goes on from", from.to_string());
    }
    if let Some(run) = session.run {
        table.field("run", format!("{run}, see `palyra runs show {run}`"));
    }
    if let Some(at) = session.archived_at {
        table.field("put away", at.to_string());
    }
    format!("{}{title}\n{}", session.id, table.render(out))
}

fn drawn(out: &Output, shown: &ShownSurface) -> String {
    let head = format!("{}  shown as {}:", shown.updated_at, shown.surface);
    format!("\n{}\n{}", out.paint(Tone::Quiet, &head), paragraphs(&shown.text))
}

fn said(out: &Output, message: &SessionMessage) -> String {
    let who = match message.role {
        MessageRole::User => printable(&message.sender),
        MessageRole::Agent => printable(message.sender.as_str()),
    };
    let state = match (message.role, message.phase) {
        (MessageRole::User, _) | (_, RunLifecyclePhase::Completed) => String::new(),
        (MessageRole::Agent, phase) => format!(" ({phase})"),
    };
    let head = format!("{}  {who}{state}:", message.at);
    format!("\n{}\n{}", out.paint(Tone::Quiet, &head), paragraphs(&message.text))
}

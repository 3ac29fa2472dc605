//! What comes in.

use palyra_common::ErrorCode;
use palyra_common::api::TestResult;
use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, NativeMessageId};
use palyra_common::runtime_contracts::{InboundState, Scope};
use palyra_connector_core::{Accepted, AuthorKind, Content, InboundEvent, Taken};
use palyra_gateway::reply_envelope;
use palyra_policy::route::Decision;
use palyra_storage::once::Made;

use crate::app::App;
use crate::transport::http::{Answer, Caller, Refusal};

/// The longest text, in characters.
const MAX_TEXT_CHARS: usize = 32_000;
const MAX_THREAD_CHARS: usize = 128;
const MAX_SENDER_CHARS: usize = 128;

/// A message that a program hands in as if somebody had sent it through a channel.
#[derive(Debug, Clone)]
pub(crate) struct HandedIn {
    pub(crate) channel: ConnectorId,
    /// The same name again is the same message.
    pub(crate) message: NativeMessageId,
    pub(crate) conversation: ConversationId,
    pub(crate) thread: Option<String>,
    /// Who said it, by what the program calls them; nothing: the caller.
    pub(crate) sender: Option<String>,
    pub(crate) text: String,
    pub(crate) read_by: ReadBy,
    pub(crate) mentions_agent: bool,
    pub(crate) addresses_all: bool,
}

/// Who can see what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadBy {
    /// The agent.
    AgentAlone,
    /// Others, too.
    Others,
}

/// Hands a message in, unless it was before, and says what becomes of it.
pub(crate) async fn hand_in(
    app: &App,
    caller: &Caller,
    handed: HandedIn,
) -> Answer<Made<TestResult>> {
    caller.access.require(Scope::MessagesSend)?;
    check_text(&handed.text)?;
    let id = app.channels.connectors.get(&handed.channel).await?.id;
    let event = event(app, caller, id.clone(), handed)?;
    let (message, conversation) = (event.message.clone(), event.conversation.clone());
    let accepted = app.channels.inbound.accept(event.clone()).await?;
    let is_new = accepted != Accepted::Before;
    let (routed, reason, reply) = match accepted {
        Accepted::Decided(Taken::Routed { reason, reply, .. }) => (true, Some(reason), reply),
        Accepted::Decided(Taken::Ignored(reason)) => (false, Some(reason), None),
        Accepted::Later => (false, None, None),
        Accepted::Before => {
            let (state, reason) = app.channels.inbound.decided(&id, &message).await?.unzip();
            let routed = state == Some(InboundState::Routed);
            let reply = if routed { reply_to(app, event).await? } else { None };
            (routed, reason.flatten(), reply)
        }
    };
    let message = message.to_string();
    let told = TestResult { message, routed, reason, reply, conversation };
    Ok(if is_new { Made::Now(told) } else { Made::Before(told) })
}

fn event(
    app: &App,
    caller: &Caller,
    connector: ConnectorId,
    handed: HandedIn,
) -> Answer<InboundEvent> {
    let refuse = |what: String| Refusal::new(ErrorCode::CommonInvalidInput, what);
    let by = &caller.access.principal;
    let sender = match handed.sender {
        None => by.to_string(),
        Some(name) if is_sender(&name) => format!("{by}/{name}"),
        Some(_) => {
            let what = format!("sender has up to {MAX_SENDER_CHARS} letters, digits and .:_-@+");
            return Err(refuse(what));
        }
    };
    if handed.thread.as_ref().is_some_and(|thread| thread.chars().count() > MAX_THREAD_CHARS) {
        return Err(refuse(format!("thread has at most {MAX_THREAD_CHARS} characters")));
    }
    Ok(InboundEvent {
        connector,
        message: handed.message,
        conversation: handed.conversation,
        thread: handed.thread.map(|thread| palyra_common::text::strip_nul(&thread).into_owned()),
        sender,
        occurred_at: app.clock.now(),
        content: Content {
            text: handed.text,
            direct: handed.read_by == ReadBy::AgentAlone,
            author: AuthorKind::Person,
            mentions_bot: handed.mentions_agent,
            addresses_all: handed.addresses_all,
            attachments: 0,
        },
        cursor: None,
    })
}

fn is_sender(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".:_-@+".contains(c);
    (1..=MAX_SENDER_CHARS).contains(&name.len()) && name.chars().all(allowed)
}

/// The answer to a message that had come in before, as far as the rules are the same.
async fn reply_to(app: &App, event: InboundEvent) -> Answer<Option<EnvelopeId>> {
    let message = event.message.to_string();
    let Decision::Route { session_key, .. } = app.channels.preview.of(event, None).await? else {
        return Ok(None);
    };
    let run = app.runs.sessions.answering(session_key, message).await?;
    Ok(run.map(reply_envelope).transpose()?)
}

/// What somebody may say in one message.
pub(crate) fn check_text(text: &str) -> Answer<()> {
    let length = text.chars().count();
    if length > MAX_TEXT_CHARS || text.trim().is_empty() {
        let what = format!("text has from 1 to {MAX_TEXT_CHARS} characters that are not all blank");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    Ok(())
}

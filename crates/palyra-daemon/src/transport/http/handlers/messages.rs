use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{
    MessageState, NewMessage, Page, PartState, SaidMessage, TestMessage, TestResult,
};
use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, EventId};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Timestamp;
use palyra_connector_core::{
    CleanText, Enqueued, Envelope, Operation, Release, Said, Wanted, What, check_same, enqueue,
};
use palyra_gateway::{OF_RUNS, run_of};
use palyra_storage::once::Made;
use palyra_storage::{Tx, new_id};
use serde::Deserialize;
use serde_json::json;

use super::channels::trail;
use crate::actions::checked_limit;
use crate::actions::messages::{HandedIn, ReadBy, check_text, hand_in};
use crate::app::App;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told, carry_out};
use crate::transport::http::refusal::{Answer, Refusal};

const PAGE_LIMIT: u32 = 200;
/// What every platform takes in one message.
const MAX_PART: usize = 2_000;
/// The longest text that is looked for, in characters.
const MAX_SOUGHT_CHARS: usize = 200;
/// Where test messages are said.
const TEST_CONVERSATION: &str = "test";

/// Which messages, and where to go on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Conversation {
    /// Which conversation
    conversation: ConversationId,
    /// Not after this: the `next` of the page before
    until: Option<Timestamp>,
    /// Only what contains this, whether in capitals or not
    #[param(min_length = 1, max_length = 200)]
    containing: Option<String>,
    /// How many, and those of the same moment as the last
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// What was said in a conversation, newest first, as far as Palyra remembers it
///
/// Some thousand messages are looked through at a time: a page without any may have a next one.
#[utoipa::path(get, path = "/admin/v1/channels/{id}/messages", tag = "messages",
    params(("id" = ConnectorId, Path, description = "Which channel"), Conversation),
    responses((status = 200, body = Page<SaidMessage>)))]
pub(crate) async fn read_messages(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    QueryOf(page): QueryOf<Conversation>,
) -> Answer<Json<Page<SaidMessage>>> {
    caller.allow(Scope::MessagesRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    let id = app.channels.connectors.get(&id).await?.id;
    let until = page.until.unwrap_or_else(|| app.clock.now());
    if let Some(text) = &page.containing
        && !(1..=MAX_SOUGHT_CHARS).contains(&text.chars().count())
    {
        let what = format!("containing has from 1 to {MAX_SOUGHT_CHARS} characters");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    let wanted = Wanted { until, containing: page.containing, limit };
    let found = app.channels.remember(&id, &page.conversation, wanted).await?;
    let next = found.more.map(|until| until.as_unix_millis().to_string());
    Ok(Json(Page { items: found.said.into_iter().map(message).collect(), next }))
}

/// Puts a message into the queue of a channel; under the same name twice, it is one message
#[utoipa::path(post, path = "/admin/v1/channels/{id}/messages", tag = "messages",
    params(("id" = ConnectorId, Path, description = "Which channel"), OnceKey),
    request_body = NewMessage, responses((status = 202, body = MessageState, headers(
        ("idempotency-replayed" = String, description = "true: it was taken before")))))]
pub(crate) async fn send_message(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    key: OnceKey,
    JsonBody(new): JsonBody<NewMessage>,
) -> Answer<Told<MessageState>> {
    let caller = caller.allow(Scope::MessagesSend)?;
    check_text(&new.text)?;
    let once = key.of("message.send", &(&id, &new))?;
    let name = match new.envelope {
        Some(name) if name.as_str().starts_with(OF_RUNS) => {
            let what =
                format!("names that begin with {OF_RUNS} are taken by agents: choose another");
            return Err(Refusal::new(ErrorCode::CommonConflict, what));
        }
        Some(name) => name,
        None => fresh("send")?,
    };
    let texts = CleanText::pieces(&new.text, MAX_PART, &*app.channels.outgoing).into_iter();
    let envelope = Envelope {
        connector: id.clone(),
        id: name.clone(),
        conversation: new.conversation,
        parts: texts.map(|text| Operation::Send { text, reply_to: None }).collect(),
        release: Release::AtOnce,
    };
    let detail = json!({ "envelope": name, "conversation": envelope.conversation });
    let (note, now) = (trail(&app, &caller, "message.sent", &id, detail), app.clock.now());
    let send = move |tx: &mut Tx<'_>| {
        match enqueue(tx, &envelope, now)? {
            Enqueued::Now => note.clone().into_iter().for_each(|entry| tx.record(entry)),
            Enqueued::Before(_) => check_same(tx, &envelope)?,
        }
        Ok(((), envelope.id.to_string()))
    };
    Ok(Told::accepted(match carry_out(&app, &caller, once, send).await? {
        Made::Now(()) => Made::Now(state(&app, &id, &name).await?),
        Made::Before(name) => Made::Before(state(&app, &id, &parsed(&name)?).await?),
    }))
}

/// Where a message to be sent is
#[utoipa::path(get, path = "/admin/v1/channels/{id}/outbox/{envelope}", tag = "messages",
    params(("id" = ConnectorId, Path, description = "Which channel"),
        ("envelope" = EnvelopeId, Path, description = "Which message")),
    responses((status = 200, body = MessageState)))]
pub(crate) async fn show_message(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, envelope)): PathOf<(ConnectorId, EnvelopeId)>,
) -> Answer<Json<MessageState>> {
    caller.allow(Scope::ChannelsRead)?;
    Ok(Json(state(&app, &id, &envelope).await?))
}

/// Hands a message in as if somebody had sent it through the channel
#[utoipa::path(post, path = "/admin/v1/channels/{id}/test", tag = "messages",
    params(("id" = ConnectorId, Path, description = "Which channel"), OnceKey),
    request_body = TestMessage, responses((status = 202, body = TestResult, headers(
        ("idempotency-replayed" = String, description = "true: it was handed in before")))))]
pub(crate) async fn test_channel(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    key: OnceKey,
    JsonBody(test): JsonBody<TestMessage>,
) -> Answer<Told<TestResult>> {
    let caller = caller.allow(Scope::MessagesSend)?;
    check_text(&test.text)?;
    let once = key.of("message.test", &(&id, &test))?;
    let id = app.channels.connectors.get(&id).await?.id;
    let name = match &test.message {
        Some(message) => message.clone(),
        None => parsed(&format!("test-{}", new_id::<EventId>()))?,
    };
    // Under one name a message comes in once: so it is enough to have settled on that.
    let named = name.to_string();
    let made = carry_out(&app, &caller, once, move |_| Ok(((), named.clone()))).await?;
    let conversation = match test.conversation {
        Some(conversation) => conversation,
        None => parsed(TEST_CONVERSATION)?,
    };
    let (name, is_new) = match made {
        Made::Now(()) => (name, true),
        Made::Before(name) => (parsed(&name)?, false),
    };
    let handed = HandedIn {
        channel: id,
        message: name,
        conversation,
        thread: None,
        sender: None,
        text: test.text,
        read_by: ReadBy::AgentAlone,
        mentions_agent: false,
        addresses_all: false,
    };
    let told = match hand_in(&app, &caller, handed).await? {
        Made::Now(told) | Made::Before(told) => told,
    };
    Ok(Told::accepted(if is_new { Made::Now(told) } else { Made::Before(told) }))
}

async fn state(app: &App, id: &ConnectorId, envelope: &EnvelopeId) -> Answer<MessageState> {
    let id = app.channels.connectors.get(id).await?.id;
    // In this order: a run ends together with its answer going to the outbox, so that who sees the
    // end sees the answer.
    let is_under_way = is_under_way(app, envelope).await?;
    let parts = app.channels.outbox.envelope(&id, envelope).await?;
    if parts.is_empty() && !is_under_way {
        let what = format!("there is no message {envelope} in the outbox of {id}");
        return Err(Refusal::new(ErrorCode::CommonNotFound, what));
    }
    let parts = parts.into_iter().map(|part| PartState {
        part: part.part,
        state: part.state,
        attempts: part.attempts,
        native: part.native,
        last_error: part.last_error,
        due_at: part.due_at,
    });
    Ok(MessageState { envelope: envelope.clone(), parts: parts.collect() })
}

/// Whether an agent still works on it.
async fn is_under_way(app: &App, envelope: &EnvelopeId) -> Answer<bool> {
    let Some(run) = run_of(envelope) else { return Ok(false) };
    Ok(app.runs.sessions.is_open(run).await?)
}

fn fresh(prefix: &str) -> Answer<EnvelopeId> {
    parsed(&format!("{prefix}-{}", new_id::<EventId>()))
}

pub(super) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Answer<T> {
    let invalid = |error: T::Err| Refusal::new(ErrorCode::CommonInvalidInput, error.to_string());
    text.parse().map_err(invalid)
}

fn message(said: Said) -> SaidMessage {
    let Said { at, native, what } = said;
    match what {
        What::In { sender, content, state, reason } => SaidMessage {
            at,
            native,
            sender: Some(sender),
            text: Some(content.text),
            operation: None,
            state: Some(state),
            reason,
        },
        What::Out { operation, .. } => {
            let text = match &operation {
                Operation::Send { text, .. } | Operation::Edit { text, .. } => {
                    Some(text.as_str().to_owned())
                }
                Operation::Delete { .. } | Operation::React { .. } | Operation::Unreact { .. } => {
                    None
                }
            };
            let operation = serde_json::to_value(&operation).ok();
            SaidMessage { at, native, sender: None, text, operation, state: None, reason: None }
        }
    }
}

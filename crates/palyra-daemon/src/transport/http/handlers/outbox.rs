use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{
    Changed, DeadLetter, Decided, OutboxEntry, Page, ReplayMany, ResolveUnknown, UnknownResolution,
};
use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::runtime_contracts::{OutboxState, Scope};
use palyra_common::time::Timestamp;
use palyra_connector_core::{ChannelError, DeadLetterRecord, EntryKey, MAX_REPLAYED, Stored};
use palyra_policy::outbox::Resolution;
use palyra_storage::Tx;
use palyra_storage::once::Made;
use serde::Deserialize;
use serde_json::json;

use super::channels::trail;
use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::{JsonBody, OptionalJsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told, carry_out};
use crate::transport::http::refusal::{Answer, Refusal};

const PAGE_LIMIT: u32 = 200;

/// Where a list of messages goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterEntry {
    /// `next` of the page before
    #[param(pattern = "^-?[0-9]{1,15}/[0-9]{1,9}/[A-Za-z0-9.:_-]{1,128}$")]
    after: Option<String>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Messages that were given up, the longest ago first
#[utoipa::path(get, path = "/admin/v1/channels/{id}/dead-letters", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel"), AfterEntry),
    responses((status = 200, body = Page<OutboxEntry>)))]
pub(crate) async fn list_dead_letters(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    QueryOf(page): QueryOf<AfterEntry>,
) -> Answer<Json<Page<OutboxEntry>>> {
    let asked = asked(caller, &id, page)?;
    let connector = app.channels.connectors.get(&id).await?.id;
    let found = app.channels.outbox.dead_letters(&connector, asked.after, asked.limit).await?;
    let items = found.into_iter().map(|record| dead(record, asked.may_read));
    Ok(Json(listed(items.collect(), asked.limit)))
}

/// A message that was given up, with its parts that were
#[utoipa::path(get, path = "/admin/v1/channels/{id}/dead-letters/{envelope}", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel"),
        ("envelope" = EnvelopeId, Path, description = "Which message")),
    responses((status = 200, body = DeadLetter)))]
pub(crate) async fn show_dead_letter(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, envelope)): PathOf<(ConnectorId, EnvelopeId)>,
) -> Answer<Json<DeadLetter>> {
    let caller = caller.allow(Scope::ChannelsRead)?;
    let may_read = caller.access.require(Scope::MessagesRead).is_ok();
    let connector = app.channels.connectors.get(&id).await?.id;
    let records = app.channels.outbox.dead_letter(&connector, &envelope).await?;
    let parts = records.into_iter().map(|record| dead(record, may_read)).collect();
    Ok(Json(DeadLetter { envelope, parts }))
}

/// Messages of which nobody knows whether they arrived, the longest ago first
#[utoipa::path(get, path = "/admin/v1/channels/{id}/unknown", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel"), AfterEntry),
    responses((status = 200, body = Page<OutboxEntry>)))]
pub(crate) async fn list_unknown(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    QueryOf(page): QueryOf<AfterEntry>,
) -> Answer<Json<Page<OutboxEntry>>> {
    let asked = asked(caller, &id, page)?;
    let (connector, unknown) = (app.channels.connectors.get(&id).await?.id, OutboxState::Unknown);
    let outbox = &app.channels.outbox;
    let found = outbox.waiting_for_human(&connector, unknown, asked.after, asked.limit).await?;
    let items = found.into_iter().map(|stored| entry(stored, asked.may_read));
    Ok(Json(listed(items.collect(), asked.limit)))
}

/// Which part of a list somebody wants, and how much of it they may see.
struct Asked {
    after: Option<(Timestamp, EntryKey)>,
    limit: u32,
    may_read: bool,
}

fn asked(caller: Caller, id: &ConnectorId, page: AfterEntry) -> Answer<Asked> {
    let caller = caller.allow(Scope::ChannelsRead)?;
    let may_read = caller.access.require(Scope::MessagesRead).is_ok();
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    let after = page.after.map(|after| read_place(id, &after)).transpose()?;
    Ok(Asked { after, limit, may_read })
}

fn listed(items: Vec<OutboxEntry>, limit: u32) -> Page<OutboxEntry> {
    let more = items.len() >= limit as usize;
    let next = items.last().filter(|_| more).map(place);
    Page { items, next }
}

/// Sends many messages after all, under the names that they had
#[utoipa::path(post, path = "/admin/v1/channels/{id}/dead-letters/replay", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    request_body = Option<ReplayMany>, responses((status = 200, body = Changed)))]
pub(crate) async fn replay_dead_letters(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    OptionalJsonBody(many): OptionalJsonBody<ReplayMany>,
) -> Answer<Json<Changed>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let limit = many.limit.unwrap_or(MAX_REPLAYED);
    if !(1..=MAX_REPLAYED).contains(&limit) {
        let what = format!("limit is from 1 to {MAX_REPLAYED}");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    let connector = app.channels.connectors.get(&id).await?.id;
    let detail = json!({ "reason": many.reason, "limit": limit });
    let note = trail(&app, &caller, "outbox.replayed", &id, detail);
    let outbox = app.channels.outbox.clone();
    // Whoever asks may go away; what was begun is finished.
    let replaying =
        tokio::spawn(async move { outbox.replay_many(&connector, many.reason, limit, note).await });
    let changed =
        replaying.await.map_err(|error| crate::failure::Failure::Startup(error.into()))?;
    Ok(Json(Changed { changed: changed? }))
}

/// Sends a message after all, under the name that it had; while it is on its way or has arrived, doing
/// it again changes nothing
#[utoipa::path(post, path = "/admin/v1/channels/{id}/dead-letters/{envelope}/{part}/replay",
    tag = "channels", params(("id" = ConnectorId, Path, description = "Which channel"),
        ("envelope" = EnvelopeId, Path, description = "Which message"),
        ("part" = u32, Path, description = "Which part of it, from 0"), OnceKey),
    responses((status = 200, body = Decided, headers(
        ("idempotency-replayed" = String, description = "true: it was sent after all before")))))]
pub(crate) async fn replay_dead_letter(
    State(app): State<App>,
    caller: Caller,
    PathOf(path): PathOf<(ConnectorId, EnvelopeId, u32)>,
    once: OnceKey,
) -> Answer<Told<Decided>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let once = once.of("dead_letter.replay", &path)?;
    let key = key(path);
    let note = about(&app, &caller, "outbox.replayed", &key);
    let (outbox, now, replayed) = (app.channels.outbox.clone(), app.clock.now(), key.clone());
    let replay = move |tx: &mut Tx<'_>| {
        let state = outbox.replay_in(tx, &replayed, note.clone(), now)?;
        Ok((state, state.to_string()))
    };
    Ok(Told::done(decided_once(key, carry_out(&app, &caller, once, replay).await?)?))
}

/// Closes a message that was given up; doing it twice is doing it once
#[utoipa::path(post, path = "/admin/v1/channels/{id}/dead-letters/{envelope}/{part}/discard",
    tag = "channels", params(("id" = ConnectorId, Path, description = "Which channel"),
        ("envelope" = EnvelopeId, Path, description = "Which message"),
        ("part" = u32, Path, description = "Which part of it, from 0")),
    responses((status = 200, body = Decided)))]
pub(crate) async fn discard_dead_letter(
    State(app): State<App>,
    caller: Caller,
    PathOf(path): PathOf<(ConnectorId, EnvelopeId, u32)>,
) -> Answer<Json<Decided>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let key = key(path);
    let note = about(&app, &caller, "outbox.discarded", &key);
    let state = app.channels.outbox.discard(&key, note).await?;
    Ok(Json(decided(key, state)))
}

/// Says what is to become of a message of which nobody knows whether it arrived
#[utoipa::path(post, path = "/admin/v1/channels/{id}/unknown/{envelope}/{part}/resolve",
    tag = "channels", params(("id" = ConnectorId, Path, description = "Which channel"),
        ("envelope" = EnvelopeId, Path, description = "Which message"),
        ("part" = u32, Path, description = "Which part of it, from 0"), OnceKey),
    request_body = ResolveUnknown, responses((status = 200, body = Decided, headers(
        ("idempotency-replayed" = String, description = "true: it was decided before")))))]
pub(crate) async fn resolve_unknown(
    State(app): State<App>,
    caller: Caller,
    PathOf(path): PathOf<(ConnectorId, EnvelopeId, u32)>,
    once: OnceKey,
    JsonBody(body): JsonBody<ResolveUnknown>,
) -> Answer<Told<Decided>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let once = once.of("unknown.resolve", &(&path, &body))?;
    let (resolution, action) = match body.resolution {
        UnknownResolution::Resend => (Resolution::Resend, "outbox.resent"),
        UnknownResolution::MarkDelivered => (Resolution::MarkDelivered, "outbox.marked_delivered"),
    };
    let key = key(path);
    let note = about(&app, &caller, action, &key);
    let (outbox, now, doubted) = (app.channels.outbox.clone(), app.clock.now(), key.clone());
    let resolve = move |tx: &mut Tx<'_>| {
        let state = outbox.resolve_in(tx, &doubted, resolution, note.clone(), now)?;
        Ok((state, state.to_string()))
    };
    Ok(Told::done(decided_once(key, carry_out(&app, &caller, once, resolve).await?)?))
}

/// What was decided now, or when the request came for the first time.
fn decided_once(key: EntryKey, made: Made<OutboxState, String>) -> Answer<Made<Decided>> {
    Ok(match made {
        Made::Now(state) => Made::Now(decided(key, state)),
        Made::Before(state) => {
            let no_state = |_| {
                let what = "what was decided about the message cannot be read";
                Refusal::new(ErrorCode::StorageInvalidValue, what)
            };
            Made::Before(decided(key, state.parse().map_err(no_state)?))
        }
    })
}

fn about(app: &App, caller: &Caller, action: &str, key: &EntryKey) -> palyra_connector_core::Trail {
    let detail = json!({ "envelope": key.envelope, "part": key.part });
    trail(app, caller, action, &key.connector, detail)
}

fn key((connector, envelope, part): (ConnectorId, EnvelopeId, u32)) -> EntryKey {
    EntryKey { connector, envelope, part }
}

fn decided(key: EntryKey, state: OutboxState) -> Decided {
    Decided { envelope: key.envelope, part: key.part, state }
}

fn entry(stored: Stored, with_operation: bool) -> OutboxEntry {
    let operation = serde_json::to_value(&stored.operation).ok().filter(|_| with_operation);
    OutboxEntry {
        envelope: stored.key.envelope,
        part: stored.key.part,
        conversation: stored.conversation,
        state: stored.entry.state,
        attempts: stored.entry.attempts,
        reason: stored.death,
        class: stored.last_class,
        last_error: stored.last_error,
        operation,
        created_at: stored.created_at,
        changed_at: stored.changed_at,
    }
}

fn dead(record: DeadLetterRecord, with_operation: bool) -> OutboxEntry {
    let operation = serde_json::to_value(&record.operation).ok().filter(|_| with_operation);
    OutboxEntry {
        envelope: record.key.envelope,
        part: record.key.part,
        conversation: record.conversation,
        state: OutboxState::Dead,
        attempts: record.attempts,
        reason: Some(record.reason),
        class: record.class,
        last_error: record.last_error,
        operation,
        created_at: record.created_at,
        changed_at: record.died_at,
    }
}

/// Where a list goes on, as `1700000000000/3/envelope`.
fn place(entry: &OutboxEntry) -> String {
    let at = entry.changed_at.as_unix_millis();
    format!("{at}/{}/{}", entry.part, entry.envelope)
}

fn read_place(connector: &ConnectorId, text: &str) -> Result<(Timestamp, EntryKey), ChannelError> {
    let read = || {
        let (at, rest) = text.split_once('/')?;
        let (part, envelope) = rest.split_once('/')?;
        let at = Timestamp::from_unix_millis(at.parse().ok()?);
        let (part, envelope) = (part.parse().ok()?, envelope.parse().ok()?);
        Some((at, EntryKey { connector: connector.clone(), envelope, part }))
    };
    read().ok_or_else(|| ChannelError::Invalid("after is `next` of the page before".to_owned()))
}

use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{
    Changed, Channel, ChannelConnection, ChannelDetail, ChannelEvent, ChannelQueue,
    ChannelSettings, NewChannel, Page, PauseReason,
};
use palyra_common::ids::{ConnectorId, EventId};
use palyra_common::runtime_contracts::{ConnectorLiveness, Scope};
use palyra_connector_core::{Connector, ConnectorStatus, Trail, set_up};
use palyra_policy::connector::saturation;
use palyra_storage::Tx;
use palyra_storage::once::Made;
use serde::Deserialize;
use serde_json::Value;

use crate::actions::checked_limit;
use crate::app::App;
use crate::audit;
use crate::channels::{ChannelPlatform, Look};
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told, carry_out};
use crate::transport::http::refusal::{Answer, Refusal};

/// The most events of one page.
const PAGE_LIMIT: u32 = 200;
/// The longest reason.
const MAX_REASON_CHARS: usize = 500;

/// What the audit trail says of a change.
pub(super) fn trail(
    app: &App,
    caller: &Caller,
    action: &str,
    id: &ConnectorId,
    detail: Value,
) -> Trail {
    let subject = format!("channel:{id}");
    Some(audit::by(&caller.actor(), app.clock.now(), action, &subject, detail))
}

/// All channels, by name
#[utoipa::path(get, path = "/admin/v1/channels", tag = "channels",
    responses((status = 200, body = Page<Channel>)))]
pub(crate) async fn list_channels(
    State(app): State<App>,
    caller: Caller,
) -> Answer<Json<Page<Channel>>> {
    caller.allow(Scope::ChannelsRead)?;
    let mut items = Vec::new();
    for connector in app.channels.connectors.list().await? {
        items.push(channel(&connector, &app.channels.look(&connector).await?));
    }
    Ok(Json(Page { items, next: None }))
}

/// Sets a channel up
#[utoipa::path(post, path = "/admin/v1/channels", tag = "channels", request_body = NewChannel,
    params(OnceKey), responses((status = 201, body = ChannelDetail, headers(
        ("idempotency-replayed" = String, description = "true: it was made before")))))]
pub(crate) async fn add_channel(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    JsonBody(new): JsonBody<NewChannel>,
) -> Answer<Told<ChannelDetail>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let once = key.of("channel.add", &new)?;
    let NewChannel { id, settings, queue } = new;
    let kind = ChannelPlatform::kind_of(&id)?;
    let settings = object(settings, "settings")?;
    app.channels.check(kind, Some(&settings), Some(&queue))?;
    let (name, now) = (id.clone(), app.clock.now());
    let note = trail(&app, &caller, "channel.added", &id, Value::Null);
    let add = move |tx: &mut Tx<'_>| {
        if !set_up(tx, &name, kind, &settings, queue, now)? {
            let what = format!("there is a channel {name}: change that one");
            return Err(Refusal::new(ErrorCode::CommonConflict, what));
        }
        note.clone().into_iter().for_each(|entry| tx.record(entry));
        Ok(((), name.to_string()))
    };
    let made = carry_out(&app, &caller, once, add).await?;
    let channel = detail(&app, &id).await?;
    Ok(Told::created(match made {
        Made::Now(()) => Made::Now(channel),
        Made::Before(_) => Made::Before(channel),
    }))
}

/// A channel with its queue and its connection
#[utoipa::path(get, path = "/admin/v1/channels/{id}", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    responses((status = 200, body = ChannelDetail)))]
pub(crate) async fn show_channel(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
) -> Answer<Json<ChannelDetail>> {
    caller.allow(Scope::ChannelsRead)?;
    Ok(Json(detail(&app, &id).await?))
}

/// Gives a channel other settings, with which it is started anew
#[utoipa::path(put, path = "/admin/v1/channels/{id}", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    request_body = ChannelSettings, responses((status = 200, body = ChannelDetail)))]
pub(crate) async fn configure_channel(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    JsonBody(change): JsonBody<ChannelSettings>,
) -> Answer<Json<ChannelDetail>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let connector = app.channels.connectors.get(&id).await?;
    let settings = change.settings.map(|settings| object(settings, "settings")).transpose()?;
    app.channels.check(&connector.kind, settings.as_ref(), change.queue.as_ref())?;
    let note = trail(&app, &caller, "channel.configured", &id, Value::Null);
    app.channels.connectors.configure(&id, settings, change.queue, note).await?;
    Ok(Json(detail(&app, &id).await?))
}

/// Switches a channel on; one that is on and lacked something is tried again
#[utoipa::path(post, path = "/admin/v1/channels/{id}/enable", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    responses((status = 200, body = ChannelDetail)))]
pub(crate) async fn enable_channel(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
) -> Answer<Json<ChannelDetail>> {
    switch(&app, caller, &id, true).await
}

/// Switches a channel off; what waits in its queue is kept
#[utoipa::path(post, path = "/admin/v1/channels/{id}/disable", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    responses((status = 200, body = ChannelDetail)))]
pub(crate) async fn disable_channel(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
) -> Answer<Json<ChannelDetail>> {
    switch(&app, caller, &id, false).await
}

async fn switch(
    app: &App,
    caller: Caller,
    id: &ConnectorId,
    enabled: bool,
) -> Answer<Json<ChannelDetail>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let action = if enabled { "channel.enabled" } else { "channel.disabled" };
    let note = trail(app, &caller, action, id, Value::Null);
    app.channels.connectors.set_enabled(id, enabled, note).await?;
    Ok(Json(detail(app, id).await?))
}

/// Where a list of events goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterEvent {
    /// `next` of the page before
    after: Option<EventId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// What happened to a channel, newest first
#[utoipa::path(get, path = "/admin/v1/channels/{id}/events", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel"), AfterEvent),
    responses((status = 200, body = Page<ChannelEvent>)))]
pub(crate) async fn list_channel_events(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    QueryOf(page): QueryOf<AfterEvent>,
) -> Answer<Json<Page<ChannelEvent>>> {
    caller.allow(Scope::ChannelsRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    let events = app.channels.connectors.events(&id, page.after, limit).await?;
    let more = events.len() >= limit as usize;
    let next = events.last().filter(|_| more).map(|event| event.id.to_string());
    let items = events.into_iter().map(|event| ChannelEvent {
        id: event.id,
        at: event.at,
        kind: event.kind,
        detail: event.detail,
    });
    Ok(Json(Page { items: items.collect(), next }))
}

/// Keeps what is in the queue of a channel from going out
#[utoipa::path(post, path = "/admin/v1/channels/{id}/queue/pause", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    request_body = PauseReason, responses((status = 200, body = ChannelDetail)))]
pub(crate) async fn pause_queue(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
    JsonBody(body): JsonBody<PauseReason>,
) -> Answer<Json<ChannelDetail>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let reason = body.reason.trim();
    if reason.is_empty() || reason.chars().count() > MAX_REASON_CHARS {
        let what = format!("reason has from 1 to {MAX_REASON_CHARS} characters");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    let note = trail(&app, &caller, "channel.paused", &id, Value::Null);
    app.channels.connectors.pause(&id, reason, note).await?;
    Ok(Json(detail(&app, &id).await?))
}

/// Lets it go out again
#[utoipa::path(post, path = "/admin/v1/channels/{id}/queue/resume", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    responses((status = 200, body = ChannelDetail)))]
pub(crate) async fn resume_queue(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
) -> Answer<Json<ChannelDetail>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let note = trail(&app, &caller, "channel.resumed", &id, Value::Null);
    app.channels.connectors.resume(&id, note).await?;
    Ok(Json(detail(&app, &id).await?))
}

/// Tries now what waits for another try, unless the platform asked to wait
#[utoipa::path(post, path = "/admin/v1/channels/{id}/queue/drain", tag = "channels",
    params(("id" = ConnectorId, Path, description = "Which channel")),
    responses((status = 200, body = Changed)))]
pub(crate) async fn drain_queue(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<ConnectorId>,
) -> Answer<Json<Changed>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let note = trail(&app, &caller, "channel.drained", &id, Value::Null);
    Ok(Json(Changed { changed: app.channels.outbox.hurry(&id, note).await? }))
}

async fn detail(app: &App, id: &ConnectorId) -> Answer<ChannelDetail> {
    let connector = app.channels.connectors.get(id).await?;
    let look = app.channels.look(&connector).await?;
    let channel = channel(&connector, &look);
    let Look { queue, status, .. } = look;
    Ok(ChannelDetail {
        channel,
        queue: ChannelQueue {
            lanes: queue.lanes,
            sending: queue.sending,
            held: queue.held,
            parked: queue.parked,
            retrying: queue.facts.retrying,
            rate_limited: queue.facts.rate_limited,
            rate_limited_until: queue.rate_limited_until,
            oldest: queue.oldest,
            paused_at: connector.paused_at,
            pause_reason: connector.pause_reason,
        },
        connection: status.map(connection).unwrap_or_default(),
        settings: connector.settings,
        queue_settings: connector.queue,
        version: connector.version,
        created_at: connector.created_at,
    })
}

fn channel(connector: &Connector, look: &Look) -> Channel {
    let queue = &look.queue;
    let stopped = ConnectorLiveness::Stopped;
    Channel {
        id: connector.id.clone(),
        kind: connector.kind.clone(),
        enabled: connector.enabled,
        readiness: connector.readiness,
        readiness_reason: connector.readiness_reason.clone(),
        liveness: look.status.as_ref().map_or(stopped, |status| status.liveness),
        contact: look.contact(),
        saturation: saturation(&queue.facts),
        reasons: look.reasons(),
        waiting: queue.waiting,
        dead: queue.facts.dead,
        unknown: queue.facts.unknown,
    }
}

fn connection(status: ConnectorStatus) -> ChannelConnection {
    let connection = status.connection;
    ChannelConnection {
        connected_since: connection.connected_since,
        last_event_at: connection.last_event_at,
        last_ack_at: connection.last_ack_at,
        ack_latency: connection.ack_latency,
        acks_every: connection.acks_every,
        silent_since: status.silent_since(),
        reconnects: connection.reconnects,
        resumes: connection.resumes,
        restarts: status.restarts.max(0).unsigned_abs(),
        last_error: status.last_error,
        last_error_at: status.last_error_at,
        node: Some(status.node),
    }
}

/// An object; nothing counts as an empty one.
fn object(value: Value, what: &str) -> Answer<Value> {
    match value {
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        Value::Object(_) => Ok(value),
        _ => Err(Refusal::new(ErrorCode::CommonInvalidInput, format!("{what} is no object"))),
    }
}

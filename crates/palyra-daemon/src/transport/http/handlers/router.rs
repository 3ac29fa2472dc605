use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use palyra_common::api::{NewRule, Page, RouteDecision, RoutePreview, RouterRule, RuleChange};
use palyra_common::ids::{ConnectorId, RuleId};
use palyra_common::runtime_contracts::Scope;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_connector_core::{AuthorKind, Content, InboundEvent};
use palyra_gateway::StoredRule;
use palyra_policy::route::{Decision, warnings};
use palyra_storage::Tx;
use palyra_storage::once::Made;
use serde::Deserialize;
use serde_json::{Value, json};

use super::channels::trail;
use super::messages::parsed;
use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told, carry_out};
use crate::transport::http::refusal::{Answer, Refusal};

const PAGE_LIMIT: u32 = 200;
const MAX_SENDER_CHARS: usize = 128;

/// Which rules, and where to go on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RulesOf {
    /// Only those of this channel
    channel: Option<ConnectorId>,
    /// `next` of the page before
    after: Option<RuleId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// The rules by which messages reach agents, oldest first
#[utoipa::path(get, path = "/admin/v1/router/rules", tag = "router", params(RulesOf),
    responses((status = 200, body = Page<RouterRule>),
        (status = 404, body = StableErrorEnvelope, description = "There is no such channel")))]
pub(crate) async fn list_rules(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<RulesOf>,
) -> Answer<Json<Page<RouterRule>>> {
    caller.allow(Scope::ChannelsRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    if let Some(channel) = &page.channel {
        app.channels.connectors.get(channel).await?;
    }
    let rules = app.channels.rules.list(page.channel.as_ref(), page.after, limit).await?;
    let more = rules.len() >= limit as usize;
    let next = rules.last().filter(|_| more).map(|rule| rule.id.to_string());
    Ok(Json(Page { items: rules.into_iter().map(told).collect(), next }))
}

/// Makes a rule; there is one for each conversation of a channel, and one for all others
#[utoipa::path(post, path = "/admin/v1/router/rules", tag = "router", request_body = NewRule,
    params(OnceKey), responses((status = 201, body = RouterRule, headers(
        ("idempotency-replayed" = String, description = "true: it was made before")))))]
pub(crate) async fn add_rule(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    JsonBody(new): JsonBody<NewRule>,
) -> Answer<Told<RouterRule>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let once = key.of("router_rule.add", &new)?;
    let note = trail(&app, &caller, "router.rule_added", &new.channel, Value::Null);
    let now = app.clock.now();
    let add = move |tx: &mut Tx<'_>| {
        let stored = palyra_gateway::add_rule(tx, &new.channel, &new.rule, now)?;
        note.clone().into_iter().for_each(|entry| tx.record(entry));
        let name = stored.id.to_string();
        Ok((stored, name))
    };
    Ok(Told::created(match carry_out(&app, &caller, once, add).await? {
        Made::Now(stored) => Made::Now(told(stored)),
        Made::Before(id) => Made::Before(told(app.channels.rules.get(parsed(&id)?).await?)),
    }))
}

/// One rule
#[utoipa::path(get, path = "/admin/v1/router/rules/{id}", tag = "router",
    params(("id" = RuleId, Path, description = "Which rule")),
    responses((status = 200, body = RouterRule)))]
pub(crate) async fn show_rule(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RuleId>,
) -> Answer<Json<RouterRule>> {
    caller.allow(Scope::ChannelsRead)?;
    Ok(Json(told(app.channels.rules.get(id).await?)))
}

/// Replaces what a rule says, from the next message on
#[utoipa::path(put, path = "/admin/v1/router/rules/{id}", tag = "router",
    params(("id" = RuleId, Path, description = "Which rule")),
    request_body = RuleChange, responses((status = 200, body = RouterRule)))]
pub(crate) async fn change_rule(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RuleId>,
    JsonBody(change): JsonBody<RuleChange>,
) -> Answer<Json<RouterRule>> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let was = app.channels.rules.get(id).await?;
    let detail = json!({ "rule": id });
    let note = trail(&app, &caller, "router.rule_changed", &was.connector, detail);
    Ok(Json(told(app.channels.rules.change(id, change.rule, change.version, note).await?)))
}

/// Removes a rule
#[utoipa::path(delete, path = "/admin/v1/router/rules/{id}", tag = "router",
    params(("id" = RuleId, Path, description = "Which rule")),
    responses((status = 204, description = "It is gone")))]
pub(crate) async fn remove_rule(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<RuleId>,
) -> Answer<StatusCode> {
    let caller = caller.allow(Scope::ChannelsWrite)?;
    let was = app.channels.rules.get(id).await?;
    let detail = json!({ "rule": id });
    let note = trail(&app, &caller, "router.rule_removed", &was.connector, detail);
    app.channels.rules.remove(id, note).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says what would become of a message; nothing is written and nobody answers
#[utoipa::path(post, path = "/admin/v1/router/preview", tag = "router",
    request_body = RoutePreview, responses((status = 200, body = RouteDecision)))]
pub(crate) async fn preview_route(
    State(app): State<App>,
    caller: Caller,
    JsonBody(preview): JsonBody<RoutePreview>,
) -> Answer<Json<RouteDecision>> {
    caller.allow(Scope::ChannelsRead)?;
    if !(1..=MAX_SENDER_CHARS).contains(&preview.sender.chars().count()) {
        let what = format!("sender has from 1 to {MAX_SENDER_CHARS} characters");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    let nobody = parsed("preview")?;
    let event = InboundEvent {
        connector: preview.channel,
        message: nobody,
        conversation: preview.conversation,
        thread: None,
        sender: preview.sender,
        occurred_at: app.clock.now(),
        content: Content {
            text: preview.text,
            direct: preview.direct,
            author: if preview.bot { AuthorKind::Bot } else { AuthorKind::Person },
            mentions_bot: preview.mentions_bot,
            addresses_all: preview.addresses_all,
            attachments: 0,
        },
        cursor: None,
    };
    let decision = app.channels.preview.of(event, preview.rule).await?;
    let reason = decision.reason();
    Ok(Json(match decision {
        Decision::Route { agent, session_key, .. } => RouteDecision {
            routed: true,
            reason,
            agent: Some(agent),
            session_key: Some(session_key),
        },
        Decision::Pair | Decision::Ignore(_) => {
            RouteDecision { routed: false, reason, agent: None, session_key: None }
        }
    }))
}

fn told(stored: StoredRule) -> RouterRule {
    RouterRule {
        id: stored.id,
        channel: stored.connector,
        version: stored.version,
        warnings: warnings(&stored.rule).into_iter().map(str::to_owned).collect(),
        rule: stored.rule,
        created_at: stored.created_at,
        changed_at: stored.changed_at,
    }
}

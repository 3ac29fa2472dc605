use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{AuditEvent, AuditVerified, ChainFaultAt, Page};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Timestamp;
use palyra_storage::journal::{Filter, Order, PAGE_LIMIT, Recorded};
use serde::Deserialize;

use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::QueryOf;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

/// Which entries, and where to go on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Search {
    /// `next` of the page before
    #[param(minimum = 0, maximum = 9_223_372_036_854_775_807u64)]
    after: Option<u64>,
    /// How many at most
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// Which come first
    #[serde(default)]
    #[param(inline)]
    order: WireOrder,
    /// Who acted
    actor: Option<String>,
    /// What was done; `token.` means everything that begins with it
    action: Option<String>,
    /// What was acted upon
    subject: Option<String>,
    /// Not before this
    since: Option<Timestamp>,
    /// Before this
    until: Option<Timestamp>,
}

/// Which entries come first.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireOrder {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// The audit trail. A page may be short and yet not the last: go on while there is `next`
#[utoipa::path(get, path = "/admin/v1/events", tag = "audit", params(Search),
    responses((status = 200, body = Page<AuditEvent>)))]
pub(crate) async fn list_events(
    State(app): State<App>,
    caller: Caller,
    QueryOf(search): QueryOf<Search>,
) -> Answer<Json<Page<AuditEvent>>> {
    caller.allow(Scope::AuditRead)?;
    let limit = checked_limit(search.limit, PAGE_LIMIT)?;
    let after = search.after.map(i64::try_from).transpose().map_err(|_| {
        Refusal::new(ErrorCode::HttpMalformed, format!("after is from 0 to {}", i64::MAX))
    })?;
    let order = match search.order {
        WireOrder::NewestFirst => Order::NewestFirst,
        WireOrder::OldestFirst => Order::OldestFirst,
    };
    let filter = Filter {
        actor: search.actor.unwrap_or_default(),
        action: search.action.unwrap_or_default(),
        subject: search.subject.unwrap_or_default(),
        since: search.since,
        until: search.until,
    };
    // No stored text has one, and none may be asked for.
    if [&filter.actor, &filter.action, &filter.subject].iter().any(|text| text.contains('\0')) {
        return Ok(Json(Page { items: Vec::new(), next: None }));
    }
    let found = app.journal.search(filter, order, after, limit).await?;
    let next = found.next.map(|seq| seq.to_string());
    Ok(Json(Page { items: found.entries.into_iter().map(event).collect(), next }))
}

/// Checks the hash chain of the whole audit trail
#[utoipa::path(post, path = "/admin/v1/events/verify", tag = "audit",
    responses((status = 200, body = AuditVerified)))]
pub(crate) async fn verify_events(
    State(app): State<App>,
    caller: Caller,
) -> Answer<Json<AuditVerified>> {
    caller.allow(Scope::AuditRead)?;
    let verified = app.journal.verify().await?;
    Ok(Json(AuditVerified {
        entries: verified.entries,
        pruned_segments: verified.pruned_segments,
        fault: verified.fault.map(|fault| ChainFaultAt { seq: fault.seq, error: fault.envelope() }),
    }))
}

fn event(recorded: Recorded) -> AuditEvent {
    let Recorded { seq, event, hash, .. } = recorded;
    AuditEvent {
        seq,
        id: event.id,
        at: event.at,
        actor: event.actor,
        action: event.action,
        subject: event.subject,
        origin: event.origin,
        outcome: event.outcome,
        // It is written by us as an object; what is not is shown as it stands.
        detail: serde_json::from_str(&event.detail).unwrap_or_else(|_| event.detail.into()),
        hash: hash.to_string(),
    }
}

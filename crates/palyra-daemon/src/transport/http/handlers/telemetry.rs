use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{
    ApprovalFatigue, ConsoleEventState, ConsoleEventTold, NewConsoleEvent, Page, TelemetrySummary,
};
use palyra_common::runtime_contracts::Scope;
use palyra_common::telemetry::{ConsoleEvent, SystemEventRecord};
use palyra_common::time::Timestamp;
use palyra_gateway::{Recorded, TelemetryCounted};
use serde::Deserialize;

use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::{JsonBody, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

const PAGE_LIMIT: u32 = 200;

/// Where a list of events goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterSystemEvent {
    /// `next` of the page before
    #[param(pattern = "^[0-9]{1,15}\\.[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    after: Option<String>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// From when on it is counted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Since {
    /// Not before this
    since: Option<Timestamp>,
}

/// Takes what a person did on a surface, in words of the vocabulary, ids and numbers
///
/// It is kept in the database of this installation and sent nowhere. With an `event_id` it is kept once.
/// While `telemetry.enabled` is off, nothing is kept, and the answer says so.
#[utoipa::path(post, path = "/console/v1/telemetry", tag = "console",
    request_body = NewConsoleEvent, responses((status = 200, body = ConsoleEventTold)))]
pub(crate) async fn tell_event(
    State(app): State<App>,
    caller: Caller,
    JsonBody(new): JsonBody<NewConsoleEvent>,
) -> Answer<Json<ConsoleEventTold>> {
    // Whoever looks at Palyra may tell; a credential for one narrow thing has nothing to.
    let caller = caller.allow(Scope::StatusRead)?;
    Ok(Json(record_console_event(&app, &caller, &new).await?))
}

/// Reads an event, and keeps it if that is wanted and the login has not told too many.
async fn record_console_event(
    app: &App,
    caller: &Caller,
    new: &NewConsoleEvent,
) -> Answer<ConsoleEventTold> {
    let event = ConsoleEvent::try_from(new)
        .map_err(|error| Refusal::new(ErrorCode::CommonInvalidInput, error.to_string()))?;
    if !is_enabled(app) {
        return Ok(ConsoleEventTold { state: ConsoleEventState::Off, event_id: None });
    }
    app.tellings.admit(caller.access.credential, app.clock.now())?;
    let recorded = app.telemetry.record_console_event(new.event_id, &event).await?;
    let (state, id) = match recorded {
        Recorded::Now(id) => (ConsoleEventState::Recorded, id),
        Recorded::Before(id) => (ConsoleEventState::Known, id),
    };
    Ok(ConsoleEventTold { state, event_id: Some(id) })
}

/// What people did on surfaces, the newest first
#[utoipa::path(get, path = "/admin/v1/telemetry", tag = "telemetry", params(AfterSystemEvent),
    responses((status = 200, body = Page<SystemEventRecord>)))]
pub(crate) async fn list_system_events(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<AfterSystemEvent>,
) -> Answer<Json<Page<SystemEventRecord>>> {
    caller.allow(Scope::MetricsRead)?;
    let limit = checked_limit(page.limit, PAGE_LIMIT)?;
    Ok(Json(app.telemetry.page(page.after.as_deref(), limit).await?))
}

/// How often what happened and what came of it, how many questions were decided, and how long they waited
#[utoipa::path(get, path = "/admin/v1/telemetry/summary", tag = "telemetry", params(Since),
    responses((status = 200, body = TelemetrySummary)))]
pub(crate) async fn sum_up_telemetry(
    State(app): State<App>,
    caller: Caller,
    QueryOf(Since { since }): QueryOf<Since>,
) -> Answer<Json<TelemetrySummary>> {
    caller.allow(Scope::MetricsRead)?;
    let from = since.unwrap_or(Timestamp::UNIX_EPOCH);
    let TelemetryCounted { counts, decided, median_waited_ms } = app.telemetry.count(from).await?;
    let median_waited_seconds = median_waited_ms.map(|waited| waited / 1_000);
    let approvals = ApprovalFatigue { decided, median_waited_seconds };
    Ok(Json(TelemetrySummary { enabled: is_enabled(&app), since, counts, approvals }))
}

/// The switch takes effect while the daemon runs.
fn is_enabled(app: &App) -> bool {
    app.settings.load().config.telemetry.enabled
}

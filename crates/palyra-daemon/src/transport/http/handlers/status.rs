use axum::Json;
use axum::extract::State;
use palyra_common::api::{Doctor, RunsStatus, Status, VaultStatus, WhoAmI};
use palyra_common::runtime_contracts::{RunLifecyclePhase, Scope};
use palyra_gateway::Counts;

use crate::app::App;
use crate::transport::http::caller::{Caller, credential_word};
use crate::transport::http::refusal::Answer;
use crate::{doctor, ready};

/// How the daemon is
#[utoipa::path(get, path = "/admin/v1/status", tag = "status",
    responses((status = 200, body = Status)))]
pub(crate) async fn status(State(app): State<App>, caller: Caller) -> Answer<Json<Status>> {
    caller.allow(Scope::StatusRead)?;
    let ready = ready::fresh(&app).await;
    let place = &app.place;
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION").into(),
        node: app.db.incarnation(),
        pid: place.pid,
        started_at: app.started_at,
        profile: app.config().deployment.profile,
        data_dir: place.data_dir.display().to_string(),
        engine: app.db.engine().as_str().into(),
        schema: ready.schema,
        http: place.http.to_string(),
        grpc: place.grpc.to_string(),
        has_owner: ready.has_owner,
        owner_logged_in: ready.owner_logged_in,
        vault: VaultStatus {
            key_source: ready.key_source.clone(),
            key_id: ready.key_id.clone(),
            doubt: ready.key_doubt.clone(),
            problem: ready.vault.clone(),
            problem_seen_at: ready.vault_failed_at,
        },
        runs: ready.work.as_ref().map(work),
        ready: ready.waiting_for.is_empty(),
        waiting_for: ready.waiting_for.clone(),
    }))
}

fn work(counts: &Counts) -> RunsStatus {
    RunsStatus {
        queued: counts.of(RunLifecyclePhase::Queued),
        running: counts.of(RunLifecyclePhase::Running),
        waiting_for_approval: counts.of(RunLifecyclePhase::WaitingForApproval),
        paused: counts.of(RunLifecyclePhase::Paused),
        approvals: counts.questions,
    }
}

/// Checks of the daemon from the inside
#[utoipa::path(get, path = "/admin/v1/doctor", tag = "status",
    responses((status = 200, body = Doctor)))]
pub(crate) async fn doctor(State(app): State<App>, caller: Caller) -> Answer<Json<Doctor>> {
    caller.allow(Scope::StatusRead)?;
    Ok(Json(doctor::inside(&app).await))
}

/// Who the caller is and what the credential allows
#[utoipa::path(get, path = "/admin/v1/whoami", tag = "access",
    responses((status = 200, body = WhoAmI)))]
pub(crate) async fn whoami(caller: Caller) -> Json<WhoAmI> {
    let access = caller.access;
    Json(WhoAmI {
        principal: access.principal,
        role: access.role,
        scopes: access.scopes.iter().collect(),
        credential: credential_word(access.credential).into(),
        expires_at: access.expires_at,
    })
}

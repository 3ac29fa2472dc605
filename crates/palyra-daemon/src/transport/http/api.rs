//! All routes, and their description.

use axum::{Router, middleware};
use palyra_common::api::FeedEvent;
use palyra_common::api::acp::params::{
    ApprovalDecide, ApprovalDecided, ApprovalOf, ApprovalsAfter, RunCreate, RunOf, SessionFork,
    SessionLoad, SessionLoaded, SessionOf, SessionRename, SessionsAfter, SurfaceAct,
};
use palyra_common::{ErrorCode, StableErrorEnvelope};
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, ResponseBuilder, SecurityRequirement};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::COOKIE;
use super::guard::guard;
use super::handlers::{
    access, acp, agents, approvals, audit, backups, channels, config, console, events, health,
    logins, messages, models, outbox, principals, router, runs, secrets, sessions, status, tapes,
};
use super::refusal::Refusal;
use crate::app::App;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Palyra",
        description = "The HTTP API of palyrad. What makes something takes an \
        Idempotency-Key, with which it is made once; of any other request a second one does no harm."
    ),
    components(schemas(
        StableErrorEnvelope,
        FeedEvent,
        SessionsAfter,
        SessionLoad,
        SessionLoaded,
        SessionFork,
        SessionRename,
        SessionOf,
        RunCreate,
        RunOf,
        ApprovalsAfter,
        ApprovalOf,
        ApprovalDecide,
        ApprovalDecided,
        SurfaceAct
    ))
)]
struct Description;

/// Which requests can meet a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meets {
    /// All: it may be told before anybody knows what is asked for.
    Any,
    /// Those that need a credential.
    WithCredential,
    /// Those that name something, in their path or their body.
    Naming,
    /// Those that change something.
    Changing,
    /// Those with a body.
    WithBody,
}

/// What an operation is for, by its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Looks,
    Changes,
}

/// What is told with an envelope, where an operation says nothing else about it.
const REFUSALS: [(&str, Meets, &str); 14] = [
    ("400", Meets::Any, "The request cannot be understood"),
    ("401", Meets::WithCredential, "There is no valid credential"),
    ("403", Meets::Any, "The credential does not allow this, or another site asks"),
    ("404", Meets::Naming, "What the request names does not exist"),
    ("405", Meets::Any, "The address does not know this method"),
    ("408", Meets::Any, "The request took too long"),
    ("409", Meets::Changing, "The request contradicts what is there"),
    ("413", Meets::WithBody, "The request is too large"),
    ("415", Meets::WithBody, "The body is not JSON"),
    ("421", Meets::Any, "The name is not this daemon's"),
    ("429", Meets::Any, "Too many requests"),
    ("431", Meets::Any, "The head of the request is too large"),
    ("500", Meets::Any, "A defect in Palyra"),
    ("503", Meets::Any, "A part of the daemon is not available"),
];

/// Everything that the daemon answers over HTTP.
pub(crate) fn router(app: App) -> Router {
    let (router, _) = described().split_for_parts();
    router
        .fallback(nothing_there)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// The description of the API.
pub(crate) fn openapi() -> String {
    let (_, mut api) = described().split_for_parts();
    add_security(&mut api);
    add_refusals(&mut api);
    let json = api.to_pretty_json();
    json.expect("the description is made of texts, lists and maps") + "\n"
}

fn described() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(<Description as utoipa::OpenApi>::openapi())
        .merge(of_agents())
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .routes(routes!(status::status))
        .routes(routes!(status::doctor))
        .routes(routes!(status::whoami))
        .routes(routes!(audit::list_events))
        .routes(routes!(audit::verify_events))
        .routes(routes!(access::list_tokens, access::create_token))
        .routes(routes!(access::revoke_token))
        .routes(routes!(logins::list_logins))
        .routes(routes!(logins::end_login))
        .routes(routes!(logins::create_login_code))
        .routes(routes!(principals::list_principals, principals::add_principal))
        .routes(routes!(principals::disable_principal))
        .routes(routes!(secrets::list_secrets))
        .routes(routes!(secrets::set_secret, secrets::delete_secret))
        .routes(routes!(secrets::rotate_master))
        .routes(routes!(secrets::redact))
        .routes(routes!(config::show_config, config::change_config))
        .routes(routes!(backups::create_backup))
        .routes(routes!(backups::show_backup))
        .routes(routes!(channels::list_channels, channels::add_channel))
        .routes(routes!(channels::show_channel, channels::configure_channel))
        .routes(routes!(channels::enable_channel))
        .routes(routes!(channels::disable_channel))
        .routes(routes!(channels::list_channel_events))
        .routes(routes!(channels::pause_queue))
        .routes(routes!(channels::resume_queue))
        .routes(routes!(channels::drain_queue))
        .routes(routes!(outbox::list_dead_letters))
        .routes(routes!(outbox::replay_dead_letters))
        .routes(routes!(outbox::show_dead_letter))
        .routes(routes!(outbox::replay_dead_letter))
        .routes(routes!(outbox::discard_dead_letter))
        .routes(routes!(outbox::list_unknown))
        .routes(routes!(outbox::resolve_unknown))
        .routes(routes!(messages::read_messages, messages::send_message))
        .routes(routes!(messages::show_message))
        .routes(routes!(messages::test_channel))
        .routes(routes!(router::list_rules, router::add_rule))
        .routes(routes!(router::show_rule, router::change_rule, router::remove_rule))
        .routes(routes!(router::preview_route))
        .routes(routes!(console::login_page, console::login))
        .routes(routes!(console::session))
        .routes(routes!(console::logout))
        .routes(routes!(console::front))
        .routes(routes!(console::style))
}

/// What is about agents and their work.
fn of_agents() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(agents::list_agents, agents::add_agent))
        .routes(routes!(agents::show_agent, agents::change_agent, agents::remove_agent))
        .routes(routes!(sessions::list_sessions, sessions::begin_session))
        .routes(routes!(
            sessions::show_session,
            sessions::rename_session,
            sessions::archive_session
        ))
        .routes(routes!(sessions::read_session, sessions::say))
        .routes(routes!(sessions::list_surfaces))
        .routes(routes!(runs::list_runs))
        .routes(routes!(runs::show_run))
        .routes(routes!(runs::read_tape))
        .routes(routes!(runs::follow_run))
        .routes(routes!(runs::abort_run))
        .routes(routes!(runs::pause_run))
        .routes(routes!(runs::resume_run))
        .routes(routes!(tapes::replay_run))
        .routes(routes!(tapes::compare_runs))
        .routes(routes!(tapes::export_run))
        .routes(routes!(approvals::list_approvals))
        .routes(routes!(approvals::show_approval))
        .routes(routes!(approvals::decide_approval))
        .routes(routes!(models::list_models))
        .routes(routes!(models::test_model))
        .routes(routes!(acp::dispatch_acp))
        .routes(routes!(events::follow_events))
}

fn add_security(api: &mut OpenApi) {
    let components = api.components.get_or_insert_default();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("token", bearer);
    let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(COOKIE)));
    components.add_security_scheme("login", cookie);
    let any = ["token", "login"].map(|name| SecurityRequirement::new::<_, _, &str>(name, []));
    api.security = Some(any.into());
}

fn add_refusals(api: &mut OpenApi) {
    let envelope = Ref::from_schema_name("StableErrorEnvelope");
    let content = ContentBuilder::new().schema(Some(envelope)).build();
    for (path, item) in &mut api.paths.paths {
        let asking = item.get.as_mut().map(|operation| (operation, Effect::Looks));
        let changing = [&mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        let changing = changing.into_iter().flatten().map(|operation| (operation, Effect::Changes));
        for (operation, effect) in asking.into_iter().chain(changing) {
            let met = REFUSALS.map(|(status, meets, meaning)| {
                can_meet(meets, path, operation, effect).then_some((status, meaning))
            });
            for (status, meaning) in met.into_iter().flatten() {
                let refusal = ResponseBuilder::new()
                    .description(meaning)
                    .content("application/json", content.clone())
                    .build();
                let responses = &mut operation.responses.responses;
                responses.entry(status.to_owned()).or_insert_with(|| refusal.into());
            }
        }
    }
}

fn can_meet(meets: Meets, path: &str, operation: &Operation, effect: Effect) -> bool {
    let has_body = operation.request_body.is_some();
    match meets {
        Meets::Any => true,
        // What says nothing of it needs one.
        Meets::WithCredential => operation.security.is_none(),
        Meets::Naming => path.contains('{') || has_body,
        Meets::Changing => effect == Effect::Changes,
        Meets::WithBody => has_body,
    }
}

/// What was asked for is not repeated: it may hold a secret.
async fn nothing_there() -> Refusal {
    Refusal::new(ErrorCode::CommonNotFound, "there is nothing under this path")
}

async fn wrong_method() -> Refusal {
    Refusal::new(
        ErrorCode::HttpMethod,
        "there is something under this path, but not for this method",
    )
}

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use palyra_common::api::{ConfigChange, ConfigChanged, ConfigView};
use palyra_common::runtime_contracts::Scope;

use crate::app::App;
use crate::failure::Failure;
use crate::settings;
use crate::transport::http::body::JsonBody;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

/// Every option, the value in force and where it comes from
#[utoipa::path(get, path = "/admin/v1/config", tag = "config",
    responses((status = 200, body = ConfigView,
        headers(("etag" = String, description = "For If-Match")))))]
pub(crate) async fn show_config(
    State(app): State<App>,
    caller: Caller,
) -> Answer<(HeaderMap, Json<ConfigView>)> {
    caller.allow(Scope::ConfigRead)?;
    let (mut view, tag) = settings::view(&app);
    // Somebody may have written one here by mistake.
    for option in &mut view.options {
        app.vault.redactor().redact_json(&mut option.value);
        option.next.iter_mut().for_each(|next| app.vault.redactor().redact_json(next));
    }
    let mut headers = HeaderMap::new();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    Ok((headers, Json(view)))
}

/// Changes options in the configuration file
#[utoipa::path(patch, path = "/admin/v1/config", tag = "config", request_body = ConfigChange,
    params(("if-match" = Option<String>, Header, description = "Only if the file is still this")),
    responses((status = 200, body = ConfigChanged)))]
pub(crate) async fn change_config(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(change): JsonBody<ConfigChange>,
) -> Answer<Json<ConfigChanged>> {
    let caller = caller.allow(Scope::ConfigWrite)?;
    let deciding = change.set.keys().chain(&change.unset);
    if let Some(key) = deciding.into_iter().find(|key| settings::is_for_local_owner(key)) {
        caller.only_local(key)?;
    }
    let expected = headers.get(header::IF_MATCH).map(|tag| tag.to_str().unwrap_or_default());
    let expected = expected.map(str::to_owned);
    let by = caller.actor();
    // Whoever asks may go away; a file that was written is also recorded and put into force.
    let changing =
        tokio::spawn(async move { settings::change(&app, change, expected.as_deref(), &by).await });
    Ok(Json(changing.await.map_err(|error| Failure::Startup(error.into()))??))
}

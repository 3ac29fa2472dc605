use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use palyra_common::ErrorCode;
use palyra_common::api::{ConfigChange, ConfigChanged, ConfigView};
use palyra_common::runtime_contracts::Scope;

use crate::app::App;
use crate::settings;
use crate::transport::http::body::JsonBody;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

/// Every option, the value in force and where it comes from
#[utoipa::path(get, path = "/admin/v1/config", tag = "config",
    responses((status = 200, body = ConfigView,
        headers(("etag" = String, description = "For If-Match")))))]
pub(crate) async fn show_config(
    State(app): State<App>,
    caller: Caller,
) -> Answer<(HeaderMap, Json<ConfigView>)> {
    caller.allow(Scope::ConfigRead)?;
    let loaded = app.settings.load();
    let mut headers = HeaderMap::new();
    if let Ok(tag) = HeaderValue::from_str(&loaded.tag()) {
        headers.insert(header::ETAG, tag);
    }
    Ok((headers, Json(loaded.view())))
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
    let expected = headers.get(header::IF_MATCH).map(|tag| tag.to_str().unwrap_or_default());
    if expected.is_some_and(|tag| tag != "*" && tag != app.settings.load().tag()) {
        let what = "the configuration has changed since it was read";
        return Err(Refusal::new(ErrorCode::CommonConflict, what));
    }
    let by = (caller.access.principal.to_string(), caller.origin().as_str().to_owned());
    Ok(Json(settings::change(&app, change, by).await?))
}

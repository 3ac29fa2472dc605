use axum::Json;
use axum::extract::State;
use palyra_common::api::{CreatedToken, MAX_TOKEN_SECONDS, NewToken, Page, Token};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Duration;
use palyra_common::{ErrorCode, TokenId};
use palyra_identity::{self as identity, Made};
use serde::Deserialize;

use crate::actions::checked_limit;
use crate::app::App;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told};
use crate::transport::http::refusal::{Answer, Refusal};

/// Where a list goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// `next` of the page before
    after: Option<TokenId>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// API tokens, newest first
#[utoipa::path(get, path = "/admin/v1/tokens", tag = "access", params(After),
    responses((status = 200, body = Page<Token>)))]
pub(crate) async fn list_tokens(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<After>,
) -> Answer<Json<Page<Token>>> {
    let caller = caller.allow(Scope::TokensRead)?;
    let limit = checked_limit(page.limit, identity::PAGE_LIMIT)?;
    let page = app.identity.list_tokens(&caller.access, page.after, limit).await?;
    let next = page.next.map(|id| id.to_string());
    Ok(Json(Page { items: page.tokens.into_iter().map(token).collect(), next }))
}

/// Makes an API token; its secret is shown this once
#[utoipa::path(post, path = "/admin/v1/tokens", tag = "access", request_body = NewToken,
    params(OnceKey), responses((status = 201, body = CreatedToken, headers(
        ("idempotency-replayed" = String, description = "true: it was made before")))))]
pub(crate) async fn create_token(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    JsonBody(new): JsonBody<NewToken>,
) -> Answer<Told<CreatedToken>> {
    let caller = caller.allow(Scope::TokensWrite)?;
    if new.expires_in_seconds.is_some_and(|seconds| seconds > MAX_TOKEN_SECONDS) {
        let what = format!("expires_in_seconds is from 1 to {MAX_TOKEN_SECONDS}");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    let once = key.of("token.create", &new)?;
    let lasts = new.expires_in_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let expires_at = lasts.map(|lasts| app.clock.now() + lasts);
    let scopes = new.scopes.into_iter().collect();
    let new = identity::NewToken { name: new.name, scopes, expires_at, principal: new.principal };
    let (by, origin) = (&caller.access, caller.origin());
    Ok(Told::created(match app.identity.create_token_once(by, new, once, &origin).await? {
        Made::Now(made) => {
            let secret = Some(made.secret.expose().to_owned());
            Made::Now(CreatedToken { token: token(made.token), secret, advice: None })
        }
        Made::Before(made) => Made::Before(CreatedToken::without_secret(token(made))),
    }))
}

/// Revokes an API token and all that came from it; doing it twice is doing it once
#[utoipa::path(delete, path = "/admin/v1/tokens/{id}", tag = "access",
    params(("id" = TokenId, Path, description = "Which token")),
    responses((status = 200, body = Token)))]
pub(crate) async fn revoke_token(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<TokenId>,
) -> Answer<Json<Token>> {
    // A token may revoke itself, whatever else it may do.
    app.identity.revoke_token(&caller.access, id, &caller.origin()).await?;
    Ok(Json(token(app.identity.token(&caller.access, id).await?)))
}

fn token(token: identity::Token) -> Token {
    Token {
        id: token.id,
        name: token.name,
        principal: token.principal,
        scopes: token.scopes.iter().collect(),
        created_at: token.created_at,
        expires_at: token.expires_at,
        last_used_at: token.last_used_at,
        revoked_at: token.revoked_at,
        made_by: token.made_by,
    }
}

//! The name of a conversation that is kept between requests.

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use palyra_common::ErrorCode;

use crate::app::App;
use crate::transport::http::refusal::{Answer, Refusal};

const HEADER: HeaderName = HeaderName::from_static("x-palyra-session");
/// How long a name is, in characters.
const MOST_CHARS: usize = 128;

/// Under which name a conversation is kept, if it is.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct KeptAs {
    /// Keeps the conversation under this name, for the token that asks: of the next request with the same
    /// name only what comes behind the last answer is said
    #[param(rename = "X-Palyra-Session", value_type = Option<String>, pattern = "^[!-~]{1,128}$")]
    pub(super) name: Option<String>,
}

impl FromRequestParts<App> for KeptAs {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        let mut named = parts.headers.get_all(HEADER).iter();
        let name = match (named.next(), named.next()) {
            (None, _) => return Ok(Self { name: None }),
            (Some(name), None) => name.to_str().ok().filter(|name| is_name(name)),
            (Some(_), Some(_)) => None,
        };
        let refused = || {
            let what = "X-Palyra-Session is one of 1 to 128 visible characters";
            Refusal::new(ErrorCode::HttpMalformed, what)
        };
        Ok(Self { name: Some(name.ok_or_else(refused)?.to_owned()) })
    }
}

fn is_name(name: &str) -> bool {
    (1..=MOST_CHARS).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What a client says of its user, as the name of a conversation.
pub(super) fn of_user(user: &str) -> Answer<Option<String>> {
    let user = user.trim();
    if user.chars().count() > MOST_CHARS || user.chars().any(char::is_control) {
        let what = format!("user has at most {MOST_CHARS} characters and no control characters");
        return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
    }
    Ok(Some(user.to_owned()).filter(|user| !user.is_empty()))
}

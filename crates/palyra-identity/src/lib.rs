//! Who may do what: principals, login codes, console logins and API tokens.
//!
//! [`Identity`] turns a secret that somebody presents into an [`Access`], and makes, lists and ends
//! the credentials behind it. Of a secret only its SHA-256 is kept. The crate knows nothing of HTTP:
//! cookies, headers and peers are the business of those who call it.

#![warn(missing_docs)]

mod access;
mod audit;
mod cache;
mod codes;
mod csrf;
mod ending;
mod error;
mod identity;
mod logins;
mod once;
mod origin;
mod refusals;
mod restored;
mod retention;
mod roles;
mod scopes;
mod secret;
mod standing;
mod store;
mod tokens;

pub use access::Access;
pub use codes::{
    FIRST_LOGIN_CODE_LASTS, HANDOFF_CODE_LASTS, INVITATION_CODE_LASTS, LoginCode, NewLogin,
};
pub use csrf::csrf_token;
pub use error::AuthError;
pub use identity::principals::MemberPage;
pub use identity::{CACHED_FOR, Identity, PAGE_LIMIT, TOPIC, TOUCHED_EVERY};
pub use logins::{LoginOptions, LoginPage};
pub use origin::Origin;
pub use palyra_common::ids::Credential;
pub use palyra_storage::once::Made;
pub use refusals::{Refusal, RefusalCounts};
pub use restored::{BroughtBack, end_what_came_back};
pub use retention::rules;
pub use roles::{role_allows, role_scopes};
pub use scopes::ScopeSet;
pub use secret::Secret;
pub use store::api_tokens::Token;
pub use store::console_logins::Login;
pub use store::principals::Member;
pub use tokens::{CreatedToken, MAX_TOKEN_NAME_CHARS, NewToken, TOKEN_PREFIX, TokenPage};

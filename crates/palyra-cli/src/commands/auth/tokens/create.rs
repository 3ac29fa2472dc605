//! `palyra auth tokens create`

use palyra_common::api::{CreatedToken, NewToken};
use palyra_common::runtime_contracts::Scope;
use palyra_common::{Duration, Principal};

use super::super::principals::person;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Make an API token
///
/// Its secret is printed once and kept nowhere: store it at once.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth tokens create monitoring --scope status:read --scope metrics:read
  palyra auth tokens create nightly --scope backups:create --expires 90d > token.txt"
)]
pub(crate) struct Arguments {
    /// What to call it
    name: String,
    /// What it allows; may be given several times
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<Scope>,
    /// Whose it is, as anna or operator:anna; without this, your own
    #[arg(long = "for", value_parser = person, value_name = "NAME")]
    principal: Option<Principal>,
    /// When it ends, as 12h or 90d; without this, never
    #[arg(long, value_name = "LENGTH")]
    expires: Option<Duration>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { name, scopes, principal, expires } = arguments;
    let expires_in_seconds = expires.map(seconds).transpose()?;
    let new = NewToken { name, scopes, expires_in_seconds, principal };
    let client = context.client()?;
    let created = client.create_token(&new).await?;
    context.out().note("This is shown once and kept nowhere:");
    let Err(why) = context.out().deliver(&created, text) else { return Ok(()) };
    // Nobody has its secret, or somebody has half of it.
    let id = created.token.id;
    Err(match client.revoke_token(id).await {
        Ok(_) => Failure::machine(format!(
            "the secret could not be printed ({why}), so the token {id} was revoked again"
        )),
        Err(error) => Failure::machine(format!(
            "the secret could not be printed ({why}), and the token {id} is still valid, because \
             it could not be revoked ({error}); run `palyra auth tokens revoke {id}`"
        )),
    })
}

/// Alone on standard output, so that it can be sent to a file.
fn text(_: &Output, created: &CreatedToken) -> String {
    format!("{}\n", created.secret.as_deref().unwrap_or_default())
}

fn seconds(length: Duration) -> Result<u32, Failure> {
    let seconds = length.as_millis() / 1_000;
    let fits = u32::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    fits.ok_or_else(|| {
        Failure::asked("a token ends in one second at the earliest and in 10 years at the latest")
    })
}

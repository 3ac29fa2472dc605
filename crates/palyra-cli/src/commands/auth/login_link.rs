//! `palyra auth login-link`

use std::net::SocketAddr;

use palyra_common::Principal;
use palyra_common::api::{LoginCode, NewLoginCode};

use super::principals::person;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;

/// Make a link with which a browser logs in once
///
/// It works for a minute, or for ten if it is for somebody else.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth login-link
  palyra auth login-link --for anna"
)]
pub(crate) struct Arguments {
    /// For whom, as anna or operator:anna; without this, for yourself
    #[arg(long = "for", value_parser = person, value_name = "NAME")]
    principal: Option<Principal>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let new = NewLoginCode { principal: arguments.principal, handoff: None };
    let code = context.client()?.login_code(&new).await?;
    context.out().show(&code, text)?;
    context.out().note(&format!("It works once, until {}.", code.expires_at));
    if code.link.as_deref().is_some_and(leads_to_loopback) {
        context.out().note(
            "It opens on the daemon's machine only; where a reverse proxy stands before it, \
             `palyra config set http.public_url https://…` makes links for elsewhere.",
        );
    }
    Ok(())
}

/// What the daemon listens on, where it was not told under which name people find it.
fn leads_to_loopback(link: &str) -> bool {
    let host = link.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let address = host.and_then(|host| host.parse::<SocketAddr>().ok());
    address.is_some_and(|address| address.ip().is_loopback())
}

/// Alone on standard output, so that it can be sent on.
fn text(_: &Output, code: &LoginCode) -> String {
    format!("{}\n", code.link.as_deref().unwrap_or_default())
}

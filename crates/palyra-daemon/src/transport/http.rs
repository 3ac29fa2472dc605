//! The console and the HTTP API: over TCP for those who log in, over the Unix socket for the local
//! owner. One router behind both.

mod api;
mod body;
mod caller;
mod connection;
mod door;
mod guard;
mod handlers;
mod limits;
mod once;
mod openai;
mod page;
mod refusal;
mod server;
mod slots;
mod sse;
mod unread;

pub(crate) use api::{openapi, router};
pub(crate) use body::check_depth;
pub(crate) use caller::{Caller, bearer_secret};
pub(crate) use connection::ConnectionOptions;
pub(crate) use door::Door;
pub(crate) use limits::{PerMinute, Rates};
pub(crate) use once::{OnceKey, carry_out};
pub(crate) use page::login_link;
pub(crate) use refusal::{Answer, Refusal, status_of};
pub(crate) use server::{Listeners, Server};
pub(crate) use slots::{Slot, Slots};

#[cfg(test)]
mod tests;

//! The network guard: the one way out for HTTP of tools, skills, replies to webhooks and downloads.
//!
//! - [`Guard`]: fetches a [`Request`] within its [`Grant`], or says with a [`NetError`] why not.
//! - [`NetConfig`]: what an operator opens beyond public addresses, and the limits of everything.
//! - [`AddressKind`]: why an address is not public.
//! - [`Resolve`]: how names become addresses; [`SystemResolver`] asks the system.
//!
//! What an agent wants to fetch was often written by a stranger: a page, a message, a skill. So a
//! request leaves only for a public address, or for what the operator has named. A name is looked
//! up inside the one step that connects, all of its addresses are judged, and the connection can go
//! to none but those: there is no second lookup that could answer differently. Redirects are
//! followed by hand, each of them judged like the first request.
//!
//! Deliberately absent: cookies, credentials of the machine (`.netrc`, keyrings, proxies of the
//! environment), connections that outlive their request, caches, HTTP/2, encodings but gzip. The
//! addresses of this machine itself that are public are not known here, so they are public.

#![warn(missing_docs)]

mod address;
mod allow;
mod body;
mod client;
mod config;
mod door;
mod error;
mod failure;
mod guard;
mod header;
mod host;
mod redirect;
mod request;
mod resolve;
mod target;

pub use address::AddressKind;
pub use config::NetConfig;
pub use error::{Flaw, NetError, RedirectFlaw};
pub use guard::Guard;
pub use host::{HostPattern, HostPatternError};
pub use request::{Grant, Hosts, Method, Request, Response};
pub use resolve::{Resolve, Resolving, SystemResolver};

//! What the HTTP client's errors mean. Their own texts repeat the URL, so only causes are told.

use std::error::Error;
use std::io;

use crate::error::NetError;

/// A request got no answer.
pub(crate) fn of_sending(error: &reqwest::Error, at: &str) -> NetError {
    let at = at.to_owned();
    if let Some(own) = causes(error).find_map(|cause| cause.downcast_ref::<NetError>()) {
        return own.clone();
    }
    if error.is_connect() || error.is_dns() {
        let tls = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>());
        return match tls {
            Some(tls) => NetError::Tls { at, what: tls.to_string() },
            None if error.is_timeout() => {
                NetError::Unreachable { at, what: "there was no connection in time".into() }
            }
            None => NetError::Unreachable { at, what: root(error) },
        };
    }
    match causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
        Some(told) if told.is_parse() => NetError::BadAnswer { at, what: told.to_string() },
        Some(_) | None => NetError::BrokeOff { at, what: root(error) },
    }
}

/// The last cause, which is the one that says something.
pub(crate) fn root(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "the connection ended".to_owned(), ToString::to_string)
}

/// What is behind an error, from the first cause to the last.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| {
        // An error of the system that holds another one passes it over as its source.
        let held = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match held {
            Some(held) => Some(held as &(dyn Error + 'static)),
            None => cause.source(),
        }
    })
}

//! How requests are made.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use palyra_common::data_dir::{LONGEST_PATH, SOCKET};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response, Url, redirect};
use serde::Serialize;

use crate::error::{ClientError, io_kind, root_cause};
use crate::target::Target;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For all of an answer, unless a call says otherwise. Longer than `http.request_timeout` where nobody
/// has chosen that: a daemon that gives up says why, and one that has not is there.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);
/// For the status, of which each part is given two seconds.
pub const STATUS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a daemon may work on an answer before it is asked whether it is there at all.
const PATIENCE: Duration = Duration::from_secs(3);
/// For its answer to that, which needs no work.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// Between two pieces of a stream.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(120);

const SILENT: &str = "it takes connections and answers nothing, not even whether it is there; it \
    hangs or was halted: on its machine `palyra daemon status` shows its process, and `palyra daemon \
    stop --force` ends it";

/// A connection to one daemon. Clones share it.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    target: Target,
}

impl Client {
    /// A client for `target`. Nothing is sent yet.
    pub fn new(target: Target) -> Result<Self, ClientError> {
        let (http, base) = connection(&target, SILENCE_TIMEOUT)?;
        Ok(Self { http, base, target })
    }

    /// A request for work during which nothing is said for as long as `limit`.
    pub(crate) fn patient(
        &self,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<RequestBuilder, ClientError> {
        let (patient, _) = connection(&self.target, limit)?;
        let unusable = |error: reqwest::Error| self.unexpected(root_cause(&error));
        let request = request.timeout(limit).build().map_err(unusable)?;
        Ok(RequestBuilder::from_parts(patient, request))
    }

    /// To whom this client speaks.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A request for the path made of `segments`, each of which is escaped.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.request_with(method, segments, &[])
    }

    pub(crate) fn request_with(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, String)],
    ) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(segments.iter().map(|segment| kept(segment)));
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.request(method, url);
        match &self.target {
            Target::Remote { token: Some(token), .. } => {
                request.header(AUTHORIZATION, token.header())
            }
            Target::Remote { token: None, .. } | Target::Local { .. } => request,
        }
    }

    /// Sends `request` and gives the answer, whatever its status. Work may take its time; a daemon
    /// that hangs is not waited for.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        tokio::select! {
            answered = request.send() => answered.map_err(|error| self.failed(error)),
            () = self.falls_silent() => Err(ClientError::Unreachable {
                target: self.target.to_string(),
                what: SILENT.into(),
            }),
        }
    }

    /// Returns when the daemon takes connections and does not even say that it is there.
    async fn falls_silent(&self) {
        loop {
            tokio::time::sleep(PATIENCE).await;
            let asked = self.request(Method::GET, &["healthz"]).timeout(SIGN_OF_LIFE);
            match asked.send().await {
                Err(error) if error.is_timeout() => return,
                // What is wrong with the connection the request itself will meet.
                Ok(_) | Err(_) => {}
            }
        }
    }

    pub(crate) fn failed(&self, error: reqwest::Error) -> ClientError {
        let refusal = error.is_connect().then(|| io_kind(&error)).flatten();
        let own = |data_dir: &Path| not_connected(data_dir, refusal?);
        let found = match &self.target {
            Target::Local { data_dir } => own(data_dir),
            Target::Remote { .. } => None,
        };
        found.unwrap_or_else(|| ClientError::Unreachable {
            target: self.target.to_string(),
            what: root_cause(&error),
        })
    }

    pub(crate) fn unexpected(&self, what: impl Into<String>) -> ClientError {
        ClientError::Unexpected { target: self.target.to_string(), what: what.into() }
    }

    /// Adds `body` to `request`.
    pub(crate) fn with_json(
        &self,
        request: RequestBuilder,
        body: &impl Serialize,
    ) -> Result<RequestBuilder, ClientError> {
        let bytes = serde_json::to_vec(body).map_err(|error| {
            self.unexpected(format!("nothing: the request has no form: {error}"))
        })?;
        Ok(request.header(CONTENT_TYPE, "application/json").body(bytes))
    }
}

/// What speaks to `target`, and where it is. After `silence` the other side counts as gone.
fn connection(target: &Target, silence: Duration) -> Result<(reqwest::Client, Url), ClientError> {
    // reqwest asks for the provider of the process and panics without one. Whoever has chosen before
    // us has chosen.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("palyra/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(silence)
        .http1_only()
        // A redirect would carry the token to wherever it points.
        .redirect(redirect::Policy::none());
    let (builder, base) = match target {
        Target::Local { .. } => {
            let builder = builder.no_proxy().tls_certs_only([]);
            let builder = match target.socket() {
                Some(socket) => builder.unix_socket(socket),
                None => builder,
            };
            (builder, Url::parse("http://localhost/"))
        }
        // A proxy would take elsewhere what is to stay on this machine; and without encryption
        // no certificates need to be read.
        Target::Remote { host, .. } if host.is_plain() => {
            (builder.no_proxy().tls_certs_only([]), Ok(host.url().clone()))
        }
        Target::Remote { host, .. } => (builder.https_only(true), Ok(host.url().clone())),
    };
    let unusable = |what| ClientError::Unreachable { target: target.to_string(), what };
    let base = base.map_err(|error| unusable(error.to_string()))?;
    let http = builder.build().map_err(|error| unusable(root_cause(&error)))?;
    Ok((http, base))
}

/// `segment` as it stays in a path. Dots alone would be taken out, and what is left would name
/// something else; so they become a name that nothing has.
fn kept(segment: &str) -> &str {
    match segment {
        "." => "%2E",
        ".." => "%2E%2E",
        other => other,
    }
}

/// What it means that the socket in `data_dir` could not be opened, if that is known.
pub(crate) fn not_connected(data_dir: &Path, kind: ErrorKind) -> Option<ClientError> {
    let length = data_dir.as_os_str().len();
    match kind {
        ErrorKind::InvalidInput if length > LONGEST_PATH => {
            Some(ClientError::PathTooLong { length })
        }
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            Some(ClientError::NotRunning { data_dir: data_dir.to_owned() })
        }
        ErrorKind::NotADirectory => Some(ClientError::NotAFolder { data_dir: data_dir.to_owned() }),
        ErrorKind::PermissionDenied => {
            Some(ClientError::NotPermitted { socket: data_dir.join(SOCKET) })
        }
        _ => None,
    }
}

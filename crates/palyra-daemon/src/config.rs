//! What an operator can choose: `palyra.toml`, the environment, the command line.
//!
//! Doc comments on options are what `docs/palyra.example.toml` and `palyra config explain` show.

mod edit;
mod example;
mod layers;
mod lock;
mod options;
mod told;
mod value;
mod view;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use palyra_common::DeploymentProfile;
use palyra_common::time::Duration;
use palyra_models::ModelsConfig;
use palyra_net::NetConfig;
use palyra_storage::StorageConfig;
use palyra_vault::VaultConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use edit::{Edited, edited, value_of, write};
pub(crate) use example::render as example;
pub(crate) use layers::{Given, Loaded, Origin, layered, load, load_alone, read};
pub(crate) use lock::{Lock, lock};
#[cfg(test)]
pub(crate) use options::all as options;
pub(crate) use options::{find as option, is_part, nearest_variable};
pub(crate) use view::tag;

use crate::failure::Failure;
use crate::hosts::PublicUrl;
use crate::transport::listen::check_address;

/// The whole configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// How this installation is run.
    pub(crate) deployment: DeploymentConfig,
    /// The web console and the HTTP API.
    pub(crate) http: HttpConfig,
    /// The gRPC API.
    pub(crate) grpc: GrpcConfig,
    /// Where data is kept.
    pub(crate) storage: StorageConfig,
    /// Where the key to the secrets comes from.
    pub(crate) vault: VaultConfig,
    /// The models that agents think with. Without any provider there is offline, which is no AI.
    pub(crate) models: ModelsConfig,
    /// Where agents work.
    pub(crate) agents: AgentsConfig,
    /// How much work agents are given at once.
    pub(crate) runs: RunsConfig,
    /// What agents may reach on the web.
    pub(crate) net: NetConfig,
    /// What is logged.
    pub(crate) log: LogConfig,
}

/// Section `[deployment]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DeploymentConfig {
    /// The way in which Palyra is run here: local (one person's machine), single-vm (one server)
    /// or worker-enabled (several nodes on one Postgres). `palyra deployment explain PROFILE` tells
    /// what each sets and checks.
    #[schemars(with = "String")]
    pub(crate) profile: DeploymentProfile,
}

/// A secret of 64 KiB fits, and whoever has set too little can still set more.
const LEAST_BODY_BYTES: u32 = 128 << 10;

/// What the daemon itself says about its services fits.
const LEAST_MESSAGE_BYTES: u32 = 64 << 10;

/// Section `[http]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpConfig {
    /// The address and port to listen on. Port 0 picks a free one; runtime.json in the data
    /// directory tells which. Only loopback addresses are accepted: to be reached from elsewhere,
    /// put a reverse proxy with TLS on this machine before it and name it in `public_url`.
    #[schemars(with = "String")]
    pub(crate) bind: SocketAddr,
    /// Further names under which this daemon is reached, such as palyra.example.org, with a port
    /// if it is not the usual one. A request for any other name is refused, which keeps foreign
    /// pages from reaching the daemon through a name of theirs. There are no wildcards.
    pub(crate) hosts: Vec<String>,
    /// Where people find this daemon when a reverse proxy stands before it, such as
    /// https://palyra.example.org. Links to log in lead there, its name counts as one of `hosts`,
    /// and with https the cookie of a login is sent over TLS only. Empty: the address it listens on.
    pub(crate) public_url: String,
    /// The largest body of a request in bytes, from 131072.
    pub(crate) max_body_bytes: u32,
    /// The largest head of a request (its line and headers) in bytes, from 8192.
    pub(crate) max_header_bytes: u32,
    /// How many headers a request may have.
    pub(crate) max_headers: u32,
    /// How deep the JSON of a request may be nested.
    pub(crate) max_json_depth: u32,
    /// How many connections may be open at once, and as many of gRPC. Once there are as many, those
    /// that have asked nothing for a second end to make room; of gRPC only those that have not begun
    /// to speak, and the others with `grpc.max_connection_age`.
    pub(crate) max_connections: u32,
    /// How many connections of the local owner, through the socket in the data directory, may be
    /// open at once. They count for themselves: whoever fills the one door does not close the other.
    pub(crate) max_local_connections: u32,
    /// How many requests are worked on at once. Further ones are told to come back.
    pub(crate) max_requests: u32,
    /// How many of them may be of one principal, so that one token cannot take the place of all
    /// others; calls over gRPC count among them. The local owner is not counted. More than
    /// `max_requests` is refused, since it would do nothing. 0: any number.
    pub(crate) max_requests_per_principal: u32,
    /// How many requests per second one credential may make, and twice as many in a burst.
    /// 0: any number.
    pub(crate) requests_per_second: u32,
    /// How long a request may take to arrive, and then to be answered; and how long a client of gRPC
    /// may take nothing from a stream.
    #[schemars(with = "String")]
    pub(crate) request_timeout: Duration,
    /// How long requests under way may go on when the daemon is asked to stop. Everything else that it
    /// has to finish may take 30 s more; then it ends as after a crash, which loses nothing
    /// that was accepted. With 30 s or more here, `palyra daemon stop` needs a longer --wait, and a
    /// systemd unit a longer TimeoutStopSec than 60.
    #[schemars(with = "String")]
    pub(crate) drain_timeout: Duration,
    /// Whether /metrics can be read without a login.
    pub(crate) open_metrics: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 7142)),
            hosts: Vec::new(),
            public_url: String::new(),
            max_body_bytes: 1 << 20,
            max_header_bytes: 32 << 10,
            max_headers: 64,
            max_json_depth: 32,
            max_connections: 1_024,
            max_local_connections: 128,
            max_requests: 256,
            max_requests_per_principal: 128,
            requests_per_second: 500,
            request_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
            open_metrics: false,
        }
    }
}

/// Section `[grpc]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GrpcConfig {
    /// The address and port to listen on, as for `http.bind`.
    #[schemars(with = "String")]
    pub(crate) bind: SocketAddr,
    /// Whether the list of services can be read without a login.
    pub(crate) open_reflection: bool,
    /// The largest message in bytes, from 65536.
    pub(crate) max_message_bytes: u32,
    /// How many calls one connection may have under way at once.
    pub(crate) max_streams: u32,
    /// After this a client is asked to make a new connection. Calls under way end first, for which they
    /// have `http.request_timeout`; streams of runs go on.
    #[schemars(with = "String")]
    pub(crate) max_connection_age: Duration,
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 7443)),
            open_reflection: false,
            max_message_bytes: 1 << 20,
            max_streams: 64,
            max_connection_age: Duration::from_mins(10),
        }
    }
}

/// Section `[agents]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentsConfig {
    /// Where the files of agents are, in a folder for each of them: an absolute folder. Empty: folder
    /// workspaces in the data directory. Nodes that share a database have to share this too: any of
    /// them may go on with a run. Nothing is moved when it changes.
    pub(crate) workspaces: PathBuf,
}

impl AgentsConfig {
    /// The folder of their own that files of agents are kept in, if they are kept in one.
    pub(crate) fn workspaces_folder(&self) -> Option<PathBuf> {
        Some(self.workspaces.clone()).filter(|folder| !folder.as_os_str().is_empty())
    }
}

/// Section `[runs]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunsConfig {
    /// How many runs of agents this node works on at once, from 1 to 4096. Further ones wait, as rows;
    /// so do those that wait for an approval, which count for nothing here.
    pub(crate) capacity: u32,
}

impl Default for RunsConfig {
    fn default() -> Self {
        Self { capacity: 64 }
    }
}

/// Section `[log]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogConfig {
    /// How much is logged: error, warn, info, debug or trace, also for single modules, as in
    /// warn,palyra_storage=debug.
    pub(crate) level: String,
    /// How a line is written: pretty for people, json for programs.
    #[schemars(with = "String")]
    pub(crate) format: LogFormat,
}

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    #[default]
    Pretty,
    Json,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".into(), format: LogFormat::default() }
    }
}

impl Config {
    /// Refuses values that cannot work.
    fn check(&self) -> Result<(), Failure> {
        self.check_sections()?;
        let profile = self.deployment.profile;
        check_address("http.bind", self.http.bind, profile)?;
        check_address("grpc.bind", self.grpc.bind, profile)?;
        let refuse = |what: &str| Err(Failure::Option { what: what.into() });
        let http = &self.http;
        if http.bind == self.grpc.bind && http.bind.port() != 0 {
            return refuse("http.bind and grpc.bind are the same address; give each its own port");
        }
        if http.max_body_bytes < LEAST_BODY_BYTES {
            return refuse(&format!("http.max_body_bytes is at least {LEAST_BODY_BYTES}"));
        }
        if http.max_header_bytes < 8_192 || http.max_header_bytes > 1 << 20 {
            return refuse("http.max_header_bytes is from 8192 to 1048576");
        }
        if !(1..=128).contains(&http.max_json_depth) {
            return refuse("http.max_json_depth is from 1 to 128");
        }
        let at_least_one = [
            ("http.max_connections", http.max_connections),
            ("http.max_local_connections", http.max_local_connections),
            ("http.max_requests", http.max_requests),
            ("grpc.max_streams", self.grpc.max_streams),
        ];
        if let Some((option, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return refuse(&format!("{option} is at least 1"));
        }
        if self.grpc.max_message_bytes < LEAST_MESSAGE_BYTES {
            return refuse(&format!("grpc.max_message_bytes is at least {LEAST_MESSAGE_BYTES}"));
        }
        // Browsers send about twenty.
        if !(32..=1_024).contains(&http.max_headers) {
            return refuse("http.max_headers is from 32 to 1024");
        }
        if http.request_timeout < Duration::from_millis(100) {
            return refuse("http.request_timeout is at least 100ms");
        }
        if !http.public_url.is_empty() && PublicUrl::parse(&http.public_url).is_none() {
            return refuse(
                "http.public_url is http:// or https:// with a host and nothing behind it, as in \
                 https://palyra.example.org",
            );
        }
        if self.grpc.max_connection_age < Duration::from_secs(1) {
            return refuse("grpc.max_connection_age is at least 1s");
        }
        match http.hosts.iter().find(|host| !is_host(host)) {
            Some(host) => {
                let begins: String = host.chars().take(MAX_HOST).collect();
                refuse(&format!(
                    "http.hosts: {begins:?} is not a host or host:port, without http://, path and \
                     wildcard, of at most {MAX_HOST} characters and {MAX_LABEL} between dots; name \
                     each host"
                ))
            }
            None => Ok(()),
        }
    }
}

impl Config {
    /// What others can say of their own.
    fn check_sections(&self) -> Result<(), Failure> {
        self.storage.check().map_err(Failure::of_option)?;
        self.vault.check().map_err(|error| Failure::Option { what: error.to_string() })?;
        self.models.check().map_err(|error| Failure::Option { what: error.to_string() })?;
        self.net.check().map_err(|error| Failure::Option { what: error.to_string() })?;
        if self.agents.workspaces_folder().is_some_and(|folder| folder.is_relative()) {
            return Err(Failure::Option { what: "agents.workspaces is an absolute path".into() });
        }
        if !(1..=4_096).contains(&self.runs.capacity) {
            return Err(Failure::Option { what: "runs.capacity is from 1 to 4096".into() });
        }
        crate::log::filter(&self.log.level).map(|_| ())
    }
}

impl HttpConfig {
    /// Refuses a share that is larger than the whole. Only for one that was set: whoever lowers
    /// `max_requests` alone has not asked for it.
    fn check_share(&self) -> Result<(), Failure> {
        let (share, all) = (self.max_requests_per_principal, self.max_requests);
        if share <= all {
            return Ok(());
        }
        let what = format!(
            "http.max_requests_per_principal is at most http.max_requests, {all}; or 0, for any \
             number"
        );
        Err(Failure::Option { what })
    }
}

/// How long a name can be, and a part of it (RFC 1035, 2.3.4, as text).
const MAX_HOST: usize = 253;
const MAX_LABEL: usize = 63;

pub(crate) fn is_host(text: &str) -> bool {
    text.parse::<axum::http::uri::Authority>().is_ok_and(|authority| {
        let host = authority.host();
        !authority.as_str().contains(['@', '*'])
            && (1..=MAX_HOST).contains(&host.len())
            && host.split('.').all(|label| label.len() <= MAX_LABEL)
    })
}

#[cfg(test)]
mod tests;

//! The checks of a deployment profile, before a start.

mod blobs;
mod postgres;
mod vault;
mod workspaces;

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use palyra_common::api::{Check, CheckState, Doctor};
use palyra_common::deployment_profiles::PreflightCheck;
use palyra_common::time::Clock;
use palyra_storage::{Cause, SystemClock};

use super::{advised, check, checks};
use crate::config::{self, Config};
use crate::config_command::json;
use crate::deployment;
use crate::failure::Failure;
use crate::flags::Flags;
use postgres::Server;

/// How long one check waits for a service that does not answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Makes the checks and tells what they saw. Fails if one of them did.
pub(crate) fn run(flags: &Flags, as_json: bool) -> Result<ExitCode, Failure> {
    let data_dir = flags.data_dir().ok_or(Failure::NoDataDir)?;
    let doctor = match config::load(&flags.given(), &data_dir) {
        Ok(loaded) => {
            let runtime = crate::runtime()?;
            let doctor = runtime.block_on(all(&loaded.config, &data_dir));
            // What did not answer in time is not waited for here either.
            runtime.shutdown_background();
            doctor
        }
        refused @ Err(_) => Doctor { checks: vec![checks::config(&refused)] },
    };
    crate::print(&if as_json { json(&doctor) } else { told(&doctor) });
    let failed = doctor.checks.iter().any(|check| check.state == CheckState::Failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn all(config: &Config, data_dir: &Path) -> Doctor {
    let server = postgres::ask(config, data_dir).await;
    let mut made = Vec::new();
    for preflight in config.deployment.profile.spec().preflights {
        made.extend(one(*preflight, config, data_dir, &server).await);
    }
    // Of every profile: the daemon comes up without it, and nobody can read a secret then.
    made.push(vault::key(config, data_dir));
    Doctor { checks: made }
}

async fn one(
    preflight: PreflightCheck,
    config: &Config,
    data_dir: &Path,
    server: &Server,
) -> Vec<Check> {
    let name = preflight.as_str();
    let made = match preflight {
        PreflightCheck::Config => demands(config),
        PreflightCheck::StoragePath => {
            let database = server.database();
            let database = database.unwrap_or_else(|| checks::database(config, data_dir));
            return vec![checks::storage_path(data_dir), database];
        }
        PreflightCheck::Bind => {
            let profile = config.deployment.profile;
            let http = checks::bind("http.bind", config.http.bind, profile, data_dir).await;
            let grpc = checks::bind("grpc.bind", config.grpc.bind, profile, data_dir).await;
            return vec![http, grpc];
        }
        PreflightCheck::DiskSpace => checks::disk_space(data_dir),
        PreflightCheck::Clock => checks::clock(SystemClock.now()),
        PreflightCheck::BackupTarget => {
            let seen = "not checked: backups are made outside of the daemon, which cannot see them";
            let advice = "Run `palyra backup create` on a schedule, such as a systemd timer.";
            advised(check(name, CheckState::Skipped, seen), advice)
        }
        PreflightCheck::Tls => {
            tls([("http.bind", config.http.bind), ("grpc.bind", config.grpc.bind)])
        }
        PreflightCheck::PostgresVersion => server.version(),
        PreflightCheck::PostgresLatency => server.latency(),
        PreflightCheck::BlobRoundTrip => return blobs::all(config, data_dir).await,
        PreflightCheck::Workspaces => workspaces::one(config).await,
        PreflightCheck::LeaseRoundTrip => server.lease(config, data_dir).await,
        PreflightCheck::NodeId => {
            let seen = "nothing to check: each start of a node has a new id of its own";
            check(name, CheckState::Skipped, seen)
        }
    };
    vec![made]
}

/// Whether the configuration gives the profile what it demands; that it is valid is known by now.
fn demands(config: &Config) -> Check {
    let name = PreflightCheck::Config.as_str();
    match deployment::check(config) {
        Ok(()) => check(name, CheckState::Ok, "the configuration can be used"),
        Err(failure) => {
            let envelope = failure.envelope();
            let failed = check(name, CheckState::Failed, envelope.message());
            advised(failed, envelope.recovery_hint())
        }
    }
}

/// The daemon speaks no TLS, so whatever others can reach is in the clear.
fn tls(listeners: [(&str, SocketAddr); 2]) -> Check {
    let name = PreflightCheck::Tls.as_str();
    let public = listeners.iter().find(|(_, at)| !at.ip().to_canonical().is_loopback());
    match public {
        Some((option, address)) => {
            let seen = format!("{option} is {address}, which is public, and the daemon has no TLS");
            let advice = "Listen on 127.0.0.1, behind a reverse proxy with TLS.";
            advised(check(name, CheckState::Failed, seen), advice)
        }
        None => {
            let seen = "only this machine can reach the daemon; a reverse proxy is not looked at";
            check(name, CheckState::Ok, seen)
        }
    }
}

/// A folder that is not there is not made: it may be a share that is not mounted, and then what is
/// put into it is on this node alone.
fn missing(name: &str, folder: &Path) -> Option<Check> {
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // Whatever else is wrong with it is found by using it.
        Ok(_) | Err(_) => return None,
    }
    let above = checks::existing(folder);
    if rustix::fs::access(above, rustix::fs::Access::WRITE_OK).is_err() {
        let seen = format!("{} is not there and cannot be made", folder.display());
        let advice = format!("Make it, or let this user write to {}.", above.display());
        return Some(advised(check(name, CheckState::Failed, seen), advice));
    }
    let seen = format!("{} is not there; the daemon makes it", folder.display());
    let advice =
        "If it is a share of all nodes, mount it first: a folder made here is this node's.";
    Some(advised(check(name, CheckState::Warning, seen), advice))
}

/// None where it takes longer than a check may.
async fn in_time<T>(asked: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(LIMIT, asked).await.ok()
}

/// Why a check that took too long failed.
fn silence() -> Cause {
    let silence = format!("no answer within {} seconds", LIMIT.as_secs());
    Arc::new(std::io::Error::new(ErrorKind::TimedOut, silence))
}

fn milliseconds(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}

fn told(doctor: &Doctor) -> String {
    let mut text = String::new();
    for check in &doctor.checks {
        text.push_str(&format!("{:8} {}: {}\n", check.state.as_str(), check.name, check.seen));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("         {advice}\n"));
        }
    }
    text
}

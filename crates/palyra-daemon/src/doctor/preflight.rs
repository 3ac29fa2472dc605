//! The checks of a deployment profile, before a start.

use std::path::Path;
use std::process::ExitCode;

use palyra_common::api::{Check, CheckState, Doctor};
use palyra_common::deployment_profiles::PreflightCheck;
use palyra_common::time::Clock;
use palyra_storage::SystemClock;

use super::{advised, check, checks};
use crate::config::{self, Config};
use crate::config_command::json;
use crate::failure::Failure;
use crate::flags::Flags;

/// Makes the checks and tells what they saw. Fails if one of them did.
pub(crate) fn run(flags: &Flags, as_json: bool) -> Result<ExitCode, Failure> {
    let data_dir = flags.data_dir().ok_or(Failure::NoDataDir)?;
    let doctor = match config::load(&flags.given(), &data_dir) {
        Ok(loaded) => crate::runtime()?.block_on(all(&loaded.config, &data_dir)),
        refused @ Err(_) => Doctor { checks: vec![checks::config(&refused)] },
    };
    crate::print(&if as_json { json(&doctor) } else { told(&doctor) });
    let failed = doctor.checks.iter().any(|check| check.state == CheckState::Failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn all(config: &Config, data_dir: &Path) -> Doctor {
    let mut made = Vec::new();
    for preflight in config.deployment.profile.spec().preflights {
        made.extend(one(*preflight, config, data_dir).await);
    }
    Doctor { checks: made }
}

async fn one(preflight: PreflightCheck, config: &Config, data_dir: &Path) -> Vec<Check> {
    let name = preflight.as_str();
    let skipped = |why: &str| check(name, CheckState::Skipped, why);
    let made = match preflight {
        PreflightCheck::Config => check(name, CheckState::Ok, "the configuration can be used"),
        PreflightCheck::StoragePath => {
            return vec![checks::storage_path(data_dir), checks::database(config, data_dir)];
        }
        PreflightCheck::Bind => {
            let profile = config.deployment.profile;
            let http = checks::bind("http.bind", config.http.bind, profile, data_dir).await;
            let grpc = checks::bind("grpc.bind", config.grpc.bind, profile, data_dir).await;
            return vec![http, grpc];
        }
        PreflightCheck::DiskSpace => checks::disk_space(data_dir),
        PreflightCheck::Clock => checks::clock(SystemClock.now()),
        PreflightCheck::BackupTarget => advised(
            check(name, CheckState::Warning, "the daemon makes no backups by itself"),
            "Run `palyra backup create` on a schedule, such as a systemd timer.",
        ),
        PreflightCheck::Tls => {
            skipped("the daemon listens on loopback; TLS is the reverse proxy's")
        }
        PreflightCheck::PostgresVersion | PreflightCheck::PostgresLatency => {
            if config.storage.url.is_empty() {
                advised(
                    check(name, CheckState::Failed, "storage.url is empty, so this is SQLite"),
                    "Set storage.url to a Postgres that all nodes share.",
                )
            } else {
                skipped("`palyra doctor` tells, once the daemon runs")
            }
        }
        PreflightCheck::BlobRoundTrip if config.storage.blobs.is_empty() => advised(
            check(
                name,
                CheckState::Failed,
                "storage.blobs is empty, so blobs are in the data directory of this node",
            ),
            "Set storage.blobs to a folder or an S3 bucket that all nodes share.",
        ),
        PreflightCheck::BlobRoundTrip | PreflightCheck::LeaseRoundTrip => {
            skipped("`palyra doctor` tells, once the daemon runs")
        }
        PreflightCheck::NodeId => {
            check(name, CheckState::Ok, "each start of a node has an id of its own")
        }
    };
    vec![made]
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

//! Whether agents can keep their files where the configuration says, tried before a start.

use std::io;
use std::path::Path;
use std::time::Instant;

use palyra_common::api::{Check, CheckState};
use palyra_common::deployment_profiles::PreflightCheck;

use super::{in_time, milliseconds, missing, silence};
use crate::config::Config;
use crate::doctor::{advised, check};

const NAME: PreflightCheck = PreflightCheck::Workspaces;

pub(super) async fn one(config: &Config) -> Check {
    let name = NAME.as_str();
    let Some(folder) = config.agents.workspaces_folder() else {
        let seen = "agents.workspaces is empty, so files of agents are in the data directory of \
                    this node";
        let advice = "Set agents.workspaces to a folder that all nodes share.";
        return advised(check(name, CheckState::Failed, seen), advice);
    };
    // In a thread of its own: a share that is away keeps whoever looks at it waiting.
    let tried = tokio::task::spawn_blocking(move || tried(&folder));
    match in_time(tried).await {
        Some(Ok(tried)) => tried,
        Some(Err(error)) => failed(&io::Error::other(error)),
        None => failed(&silence()),
    }
}

fn tried(folder: &Path) -> Check {
    if let Some(missing) = missing(NAME.as_str(), folder) {
        return missing;
    }
    let began = Instant::now();
    match round_trip(folder) {
        Ok(()) => {
            let took = milliseconds(began.elapsed());
            let seen =
                format!("a file was written to {}, read and deleted in {took}", folder.display());
            check(NAME.as_str(), CheckState::Ok, seen)
        }
        Err(error) => failed(&error),
    }
}

fn round_trip(folder: &Path) -> io::Result<()> {
    const TEXT: &[u8] = b"what a preflight writes";
    let file = tempfile::Builder::new().prefix(".preflight-").tempfile_in(folder)?;
    std::fs::write(file.path(), TEXT)?;
    match std::fs::read(file.path())? == TEXT {
        true => file.close(),
        false => Err(io::Error::other("what was written came back otherwise")),
    }
}

fn failed(error: &impl std::fmt::Display) -> Check {
    let seen = format!("files of agents cannot be kept: {error}");
    let advice = "Make agents.workspaces a folder that this user may write to, on every node.";
    advised(check(NAME.as_str(), CheckState::Failed, seen), advice)
}

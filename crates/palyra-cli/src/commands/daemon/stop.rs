//! `palyra daemon stop`

use std::time::Duration;

use palyra_common::data_dir::STOP_SECONDS;
use serde_json::json;

use super::running::{self, Seen};
use super::{holder, last_key};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::service::{self, Unit};

/// What is said of a daemon that has the last copy of the key.
pub(super) const ALL_THE_SAME: &str = "With --yes it is stopped all the same";

/// Stop the daemon, and wait for its end
///
/// It finishes what it is doing. It is found also where its socket or its data directory was
/// removed. With --force one that hangs is killed: what it has acknowledged is on the disk, what it
/// was doing is settled by the next start as after a crash. That none runs is no failure. One that
/// alone still has the master key is not stopped, unless with --yes.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra daemon stop\n  palyra daemon stop --wait 120\n  palyra daemon stop --force --wait 5"
)]
pub(crate) struct Arguments {
    /// How many seconds to wait
    #[arg(long, value_name = "SECONDS", default_value_t = STOP_SECONDS, value_parser = running::wait())]
    pub(super) wait: u64,
    /// Kill it if it still runs then
    #[arg(long)]
    pub(super) force: bool,
    /// Also if it alone still has the master key, and all secrets are lost with it
    #[arg(long)]
    pub(super) yes: bool,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let stopped = stop(context, arguments).await?;
    let told = match stopped {
        Some(pid) => format!("palyrad (process {pid}) has stopped.\n"),
        None => "No daemon runs.\n".into(),
    };
    context.out().show(&json!({ "stopped": stopped.is_some(), "pid": stopped }), |_, _| told)
}

/// Stops it, and says which process it was.
pub(super) async fn stop(context: &Context, arguments: &Arguments) -> Result<Option<u32>, Failure> {
    let data_dir = context.own_data_dir("daemon stop")?;
    let (number, pid) = match running::seen(context, &data_dir).await? {
        Seen::Nobody => return Ok(None),
        Seen::Answers(status) => {
            if !arguments.yes {
                last_key::respect_of(&status, ALL_THE_SAME)?;
            }
            (status.pid, running::process(&data_dir, &status).await?)
        }
        Seen::Silent(pid) => match running::process_id(pid) {
            Some(process) => (pid, process),
            None => return Ok(None),
        },
    };
    let told = tell_systemd(&Unit::of(&data_dir)?, number, arguments)?;
    // systemd lets one that was halted go on, so that it hears.
    let halted = !told && holder::is_halted(number);
    if halted && !arguments.force {
        // It would not even hear that it is to stop.
        return Err(running::in_the_way(number, &data_dir));
    }
    let limit = if halted { Duration::ZERO } else { Duration::from_secs(arguments.wait) };
    let ended = if told {
        // A second signal would tell it not to finish what it is doing.
        running::ended(pid, limit).await
    } else {
        running::terminate(pid, limit).await
    };
    match ended {
        Err(_) if arguments.force => running::kill(&data_dir, number, pid).await?,
        ended => ended?,
    }
    Ok(Some(number))
}

/// Has systemd stop the process, if it is the one that runs it, and says whether it will: it would
/// take an end that it did not ask for as a reason to start it again. It is not waited for, since
/// it waits for as long as the unit says.
fn tell_systemd(unit: &Unit, number: u32, arguments: &Arguments) -> Result<bool, Failure> {
    if !unit.manages(number) {
        return Ok(false);
    }
    match service::systemctl(&["stop", "--no-block", unit.name()]) {
        Ok(_) => Ok(true),
        Err(_) if arguments.force => Ok(false),
        Err(why) => Err(Failure::machine(why)),
    }
}

//! `palyra daemon restart`

use std::ffi::OsString;

use super::{running, start, stop};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::service;

/// Stop the daemon if it runs, and start it again
///
/// A daemon that systemd runs stays with systemd.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  palyra daemon restart\n  palyra daemon restart -- --log-level debug"
)]
pub(crate) struct Arguments {
    /// How many seconds to wait, for the end and for the start
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    wait: u64,
    /// Options of palyrad
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { wait, options } = arguments;
    context.own_data_dir("daemon restart")?;
    let status = running::status(context).await?;
    if status.is_some_and(|status| service::manages(status.pid)) {
        if !options.is_empty() {
            return Err(Failure::asked(
                "systemd runs this daemon; put its options into the unit with \
                 `systemctl --user edit palyra.service`",
            ));
        }
        service::systemctl(&["restart", service::UNIT]).map_err(Failure::machine)?;
        return super::status::run(context).await;
    }
    stop::stop(context, wait).await?;
    start::run(context, start::Arguments { wait, options }).await
}

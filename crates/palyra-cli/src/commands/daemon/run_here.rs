//! `palyra daemon run`

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::argument::refuse_passwords;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::palyrad;

/// Run the daemon here, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra daemon run
  palyra daemon run -- --log-level debug     what follows -- goes to palyrad"
)]
pub(crate) struct Arguments {
    /// Leave the terminal behind, for `palyra daemon start`
    #[arg(long, hide = true)]
    pub(super) detached: bool,
    /// Options of palyrad
    #[arg(last = true, value_name = "OPTIONS")]
    pub(super) options: Vec<OsString>,
}

pub(super) fn run(context: &Context, arguments: Arguments) -> Outcome {
    context.own_data_dir("daemon run")?;
    let why =
        "daemon run prints what palyrad prints, whose log is JSON with PALYRA_LOG_FORMAT=json";
    context.out().has_no_json(why)?;
    if arguments.detached {
        // Without this the daemon would get the hang-up of the terminal that it was started from.
        rustix::process::setsid()
            .map_err(|error| Failure::machine(format!("no session of its own: {error}")))?;
    } else {
        // `palyra daemon start` has looked at them, and hands on those of a daemon before.
        refuse_passwords(&arguments.options)?;
    }
    let mut command = palyrad::command(context)?;
    // Returns only if it could not be done.
    let error = command.args(arguments.options).exec();
    Err(Failure::file(Path::new(command.get_program()), error))
}

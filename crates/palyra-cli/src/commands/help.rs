//! `palyra help`

use clap::CommandFactory;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Explain a command, or with `output` the output for programs
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra help backup create\n  palyra help output"
)]
pub(crate) struct Arguments {
    /// The command
    command: Vec<String>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if arguments.command == ["output"] {
        return context.out().print(output::HELP);
    }
    let mut root = Cli::command();
    root.build();
    let mut found = &mut root;
    for name in &arguments.command {
        found = found.find_subcommand_mut(name).ok_or_else(|| {
            Failure::asked(format!("there is no command {:?}", arguments.command.join(" ")))
        })?;
    }
    context.out().print(&found.render_long_help().to_string())
}

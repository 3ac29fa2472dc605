//! `palyra completions`

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// Print what a shell needs to complete commands
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra completions bash > ~/.local/share/bash-completion/completions/palyra
  palyra completions zsh > ~/.zfunc/_palyra
  palyra completions fish > ~/.config/fish/completions/palyra.fish"
)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Known,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context.out().has_no_json("completions are a script for a shell")?;
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "palyra", &mut script);
    let script = String::from_utf8(script)
        .map_err(|error| Failure::machine(format!("the completions are not text: {error}")))?;
    context.out().print(&script)
}

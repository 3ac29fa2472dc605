//! `palyra config show`

use palyra_common::api::ConfigView;

use super::source::{self, plain};
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone, printable};
use crate::table::{Cell, Table};

/// Show every option with its value and where it comes from
///
/// Asks the daemon for what is in force, and for what waits for its next start; without one, shows
/// what a start would use. Passwords are left out.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra config show
  palyra config show --changed
  palyra config show --json"
)]
pub(crate) struct Arguments {
    /// Only what differs from its default, or will
    #[arg(long)]
    changed: bool,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let mut view = source::view(context).await?;
    if arguments.changed {
        view.options.retain(|option| option.value != option.default || option.next.is_some());
    }
    context.out().show(&view, text)
}

fn text(out: &Output, view: &ConfigView) -> String {
    let mut table = if view.options.iter().any(|option| option.next.is_some()) {
        Table::new(["OPTION", "VALUE", "FROM", "NEXT START"])
    } else {
        Table::new(["OPTION", "VALUE", "FROM"])
    };
    for option in &view.options {
        let tone = if option.origin == "default" { Tone::Quiet } else { Tone::Good };
        let value = plain(&option.value);
        let (key, value) = (option.key.as_str().into(), value.into());
        let from = Cell::toned(tone, &option.origin);
        match source::next(option) {
            Some(next) => table.row([key, value, from, Cell::toned(Tone::Doubtful, next)]),
            None => table.row([key, value, from]),
        }
    }
    format!("{}\n\n{}", printable(&view.file), table.render(out))
}

//! `palyra config explain`

use palyra_common::api::ConfigOption;

use super::source::{self, plain};
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone, printable};
use crate::table::{Cell, Table};

/// Explain an option: what it is for, and why it has its value
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra config explain http.bind
  palyra config explain storage.url --json"
)]
pub(crate) struct Arguments {
    /// Its name, as http.bind
    key: String,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let view = source::view(context).await?;
    let file = view.file.clone();
    let option = source::option(&view, &arguments.key)?;
    context.out().show(option, |out, option| text(out, option, &file))
}

fn text(out: &Output, option: &ConfigOption, file: &str) -> String {
    let origin = match option.origin.as_str() {
        "default" => "nothing sets it, so it has its default".to_owned(),
        "file" => format!("the file {file}"),
        "environment" => format!("the variable {}", option.env),
        "command_line" => "the command line of the daemon".to_owned(),
        other => other.to_owned(),
    };
    let change = if option.live { "at once" } else { "at the next start of the daemon" };
    let mut table = Table::of_fields();
    table.field("value", plain(&option.value));
    if let Some(next) = source::next(option) {
        table.field("from the next start on", Cell::toned(Tone::Doubtful, next));
    }
    table.field("set by", origin);
    table.field("default", plain(&option.default));
    if !option.env.is_empty() {
        table.field("variable", option.env.as_str());
    }
    table.field("takes effect", change);
    format!("{}\n\n{}\n\n{}", printable(&option.key), shown(&option.doc), table.render(out))
}

/// Line by line, so that line ends stay.
fn shown(doc: &str) -> String {
    doc.lines().map(|line| printable(line).into_owned()).collect::<Vec<_>>().join("\n")
}

//! `palyra chat`

mod interactive;
mod lines;
mod once;
mod paper;
mod place;
mod transcript;
mod view;
mod watch;

use std::io::IsTerminal;

use palyra_client::Client;
use palyra_common::api::{NewInput, Submitted};
use palyra_common::ids::SessionId;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::patience::{self, patiently};

/// Talk to an agent
///
/// With MESSAGE, or when standard input is no terminal, this is one message and its answer; else a
/// conversation, until Ctrl-D. It goes on in the session of the command line in which something was
/// said last, unless --new, --session or --agent say otherwise.
///
/// On a terminal the answer appears as it is written, and what needs an approval is shown as it is and
/// asked about; it can be decided elsewhere, too, with `palyra approvals approve`. Ctrl-C stops the
/// run, twice leaves it alone. A daemon that goes away is waited for, for up to five minutes.
///
/// Elsewhere the answer goes to standard output when it is whole, and all else to standard error. With
/// --json it is one document: session, run, phase, end, answer, detail, hint, and the approvals that it
/// waits for; `palyra runs tail RUN --json` has each event.
///
/// Exits with 7 when there is no answer: the run failed, was stopped, or --wait is over.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra chat                        a conversation
  palyra chat \"what time is it\"      one question
  palyra chat --new --agent ops < question.txt
  palyra chat \"read notes.md\" --json --wait 2m"
)]
pub(crate) struct Arguments {
    /// What to say; - for standard input
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    #[command(flatten)]
    place: place::Place,
    /// How long to wait for the answer to one message; the run goes on [default: as long as it takes]
    #[arg(long, value_name = "TIME")]
    wait: Option<palyra_common::Duration>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let is_terminal = std::io::stdin().is_terminal();
    match &arguments.message {
        None if is_terminal && context.out().is_json() => {
            Err(Failure::asked("with --json nobody is asked; give a message, or pipe it in"))
        }
        None if is_terminal && arguments.wait.is_some() => {
            Err(Failure::asked("--wait is for one message; give it, or leave --wait away"))
        }
        None if is_terminal => interactive::run(context, &arguments.place).await,
        given => once::run(context, once::message(given.as_deref())?, &arguments).await,
    }
}

/// Says something once, however often the daemon has to be told.
async fn say(
    out: &Output,
    client: &Client,
    session: SessionId,
    text: String,
) -> Result<Submitted, Failure> {
    let key: String = patience::name("chat")?;
    let input = NewInput { text };
    Ok(patiently(out, async || client.say(session, &input, &key).await).await?)
}

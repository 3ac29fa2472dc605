//! A conversation at a terminal.

use palyra_client::RunQuery;
use palyra_common::runtime_contracts::RunLifecyclePhase;

use super::lines::Lines;
use super::place::{Found, Place};
use super::say;
use super::watch::{Watch, typed};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{Tone, printable};

const PROMPT: &str = "> ";
const HELP: &str = "\
/new   begin another session
/quit  leave; Ctrl-D does, too
A line that ends with \\ goes on in the next one. Ctrl-C stops what the agent does, twice leaves.";

/// What somebody wants next.
enum Wanted {
    Say(String),
    New,
    Help,
    /// A command that there is not.
    Unknown(String),
    Leave,
}

pub(super) async fn run(context: &Context, place: &Place) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    let mut found = place.find(&client).await?;
    let mut watch = Watch::new(out, &client, Some(Lines::new()))?;
    greet(&mut watch, &found)?;
    catch_up(&mut watch, &found).await?;
    loop {
        match wanted(&mut watch).await? {
            Wanted::Leave => return Ok(()),
            Wanted::Help => watch.view.text(out, &format!("{HELP}\n"))?,
            Wanted::Unknown(word) => {
                let told = format!("There is no {}; /help tells what there is.", printable(&word));
                watch.view.line(out, Tone::Bad, &told)?;
            }
            Wanted::New => {
                found = place.begin(&client).await?;
                greet(&mut watch, &found)?;
            }
            Wanted::Say(text) => match say(out, &client, found.session.id, text).await {
                Ok(said) => watch.watch(said.run, None).await.map(drop)?,
                // What was said wrongly can be said again.
                Err(Failure::Told(told)) if told.code() == "common/invalid_input" => {
                    watch.view.line(out, Tone::Bad, &printable(told.message()))?;
                }
                Err(failure) => return Err(failure),
            },
        }
    }
}

fn greet(watch: &mut Watch<'_>, found: &Found) -> Outcome {
    let session = &found.session;
    let (id, agent) = (session.id, printable(session.agent.as_str()));
    let text = match found.is_new {
        true => format!("New session {id} with {agent}. /help tells what can be typed besides."),
        false => format!("Session {id} with {agent} goes on; /new begins another one."),
    };
    watch.view.line(watch.out, Tone::Quiet, &text)
}

/// Shows what is under way in the conversation.
async fn catch_up(watch: &mut Watch<'_>, found: &Found) -> Outcome {
    if found.is_new {
        return Ok(());
    }
    let session = Some(found.session.id);
    let phase = Some(RunLifecyclePhase::WaitingForApproval);
    let waiting = watch.client.runs(&RunQuery { session, phase, after: None }, 1).await?;
    let waiting = waiting.items.first().map(|run| run.id);
    match found.session.run.or(waiting) {
        Some(run) => {
            watch.view.line(watch.out, Tone::Quiet, &format!("The run {run} is not over yet:"))?;
            watch.watch(run, None).await.map(drop)
        }
        None => Ok(()),
    }
}

/// What is typed next. Ctrl-C twice leaves.
async fn wanted(watch: &mut Watch<'_>) -> Result<Wanted, Failure> {
    let mut text = String::new();
    let mut is_interrupted = false;
    if watch.ahead.is_empty() {
        watch.out.tell(PROMPT);
    }
    loop {
        let line = match watch.ahead.pop_front() {
            Some(line) => Some(line),
            None if watch.lines.as_ref().is_none_or(Lines::has_ended) => None,
            None => tokio::select! {
                line = typed(&mut watch.lines) => line,
                _ = watch.interrupts.recv() => {
                    if is_interrupted {
                        watch.out.tell("\n");
                        return Err(Failure::Interrupted);
                    }
                    // The terminal has forgotten what was typed.
                    is_interrupted = true;
                    text.clear();
                    watch.out.tell(&format!("\nCtrl-C again leaves.\n{PROMPT}"));
                    continue;
                }
            },
        };
        is_interrupted = false;
        let Some(line) = line else {
            watch.out.tell("\n");
            return Ok(Wanted::Leave);
        };
        if let Some(line) = line.strip_suffix('\\') {
            text.push_str(line);
            text.push('\n');
            continue;
        }
        text.push_str(&line);
        match text.trim() {
            "" => {
                text.clear();
                watch.out.tell(PROMPT);
            }
            "/quit" | "/exit" => return Ok(Wanted::Leave),
            "/new" => return Ok(Wanted::New),
            "/help" => return Ok(Wanted::Help),
            word if is_command(word) => return Ok(Wanted::Unknown(word.to_owned())),
            _ => return Ok(Wanted::Say(text)),
        }
    }
}

/// Whether this looks like a command, and not like something to say.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/')
        .is_some_and(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

//! Watching one run to its end: what it says, what it asks, and whether it is to stop.

use std::collections::VecDeque;

use palyra_client::{Client, Followed, RunWish};
use palyra_common::api::{Approval, ApprovalDecision, ApprovalVerdict, ShownSurface};
use palyra_common::ids::{ApprovalId, RunId, SurfaceId};
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase};
use palyra_common::tape::{RunFinished, TapeEntry};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use super::lines::Lines;
use super::transcript::{Piece, Transcript};
use super::view::View;
use crate::commands::approvals::show;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone};
use crate::patience::{self, PATIENCE, patiently};

/// One who watches runs.
pub(super) struct Watch<'a> {
    pub(super) out: &'a Output,
    pub(super) client: &'a Client,
    pub(super) view: View,
    /// What is typed, where somebody can be asked.
    pub(super) lines: Option<Lines>,
    /// What was typed while there was no question.
    pub(super) ahead: VecDeque<String>,
    pub(super) interrupts: Signal,
    /// Whether the question stands at the end of the screen, and nobody has ended its line.
    is_asking: bool,
}

/// How watching a run ended.
#[derive(Debug)]
pub(super) enum Seen {
    /// It has ended.
    Finished(RunFinished),
    /// It goes on; this is where it was, and what it waits for.
    Left(Option<RunLifecyclePhase>, Vec<ApprovalId>),
}

/// A question that is shown.
struct Question {
    approval: Approval,
    is_answered: bool,
}

enum Turn {
    Heard(Option<Followed<TapeEntry>>),
    Typed(Option<String>),
    Interrupted,
    Late,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        out: &'a Output,
        client: &'a Client,
        lines: Option<Lines>,
    ) -> Result<Self, Failure> {
        let interrupts = signal(SignalKind::interrupt())
            .map_err(|error| Failure::machine(format!("signals cannot be heard: {error}")))?;
        let (view, ahead) = (View::new(out), VecDeque::new());
        Ok(Self { out, client, view, lines, ahead, interrupts, is_asking: false })
    }

    /// Watches `run` until it has ended, or until `deadline`. Ctrl-C stops the run; once more leaves.
    pub(super) async fn watch(
        &mut self,
        run: RunId,
        deadline: Option<Instant>,
    ) -> Result<Seen, Failure> {
        let mut follower = self.client.follow_run(run, 0, PATIENCE);
        let mut transcript = Transcript::default();
        let mut questions = VecDeque::new();
        let mut is_stopped = false;
        loop {
            let turn = tokio::select! {
                heard = follower.next() => Turn::Heard(heard?),
                line = typed(&mut self.lines) => Turn::Typed(line),
                _ = self.interrupts.recv() => Turn::Interrupted,
                () = until(deadline) => Turn::Late,
            };
            match turn {
                Turn::Heard(Some(Followed::Event(entry))) => {
                    for piece in transcript.on(&entry.event) {
                        if let Piece::Finished(finished, rest) = &piece {
                            self.leave_question();
                            self.view.end(self.out, finished, rest)?;
                            if let Some(hint) = &finished.hint {
                                self.view.line(self.out, Tone::Quiet, hint)?;
                            }
                            return Ok(Seen::Finished(finished.clone()));
                        }
                        self.show(run, piece, &mut questions).await?;
                    }
                }
                Turn::Heard(Some(Followed::Lost)) => {
                    self.aside(|out| patience::lost(out, PATIENCE))?
                }
                Turn::Heard(Some(Followed::Back)) => {
                    self.aside(patience::back)?;
                    self.prompt(&questions)?;
                }
                Turn::Typed(Some(line)) => self.typed(line, &mut questions).await?,
                Turn::Typed(None) => {
                    self.leave_question();
                    self.prompt(&questions)?;
                }
                Turn::Interrupted if is_stopped => return self.left(run),
                Turn::Interrupted => {
                    is_stopped = true;
                    self.stop(run).await?;
                }
                Turn::Heard(None) | Turn::Late => {
                    return Ok(Seen::Left(transcript.phase, transcript.asked));
                }
            }
        }
    }

    async fn show(
        &mut self,
        run: RunId,
        piece: Piece,
        questions: &mut VecDeque<Question>,
    ) -> Outcome {
        self.leave_question();
        match piece {
            Piece::Live(text) => self.view.live(self.out, &text),
            Piece::Settled => self.view.settle(self.out),
            Piece::Line(tone, line) => self.view.line(self.out, tone, &line),
            Piece::Shown(surfaces) => self.surfaces(run, &surfaces).await,
            Piece::Asked(id) => self.ask(id, questions).await,
            Piece::Decided(id) => {
                questions.retain(|question| question.approval.id != id);
                Ok(())
            }
            // The caller ends with it.
            Piece::Finished(..) => Ok(()),
        }
    }

    /// Shows surfaces as they are now.
    async fn surfaces(&mut self, run: RunId, changed: &[SurfaceId]) -> Outcome {
        let (out, client) = (self.out, self.client);
        let session = patiently(out, async || client.run(run).await).await?.session;
        let shown = patiently(out, async || client.surfaces(session).await).await?;
        let is_changed = |shown: &ShownSurface| changed.contains(&shown.surface);
        for shown in shown.items.into_iter().filter(is_changed) {
            self.view.shown(out, &shown.text)?;
        }
        Ok(())
    }

    /// Shows a question with all that is to be done.
    async fn ask(&mut self, id: ApprovalId, questions: &mut VecDeque<Question>) -> Outcome {
        let (out, client) = (self.out, self.client);
        let approval = patiently(out, async || client.approval(id).await).await?;
        // On a tape that is read later the answer follows.
        if approval.state != ApprovalState::Pending {
            return Ok(());
        }
        self.view.text(out, &show::text(out, &approval))?;
        questions.push_back(Question { approval, is_answered: false });
        self.prompt(questions)
    }

    /// Says what can be typed, or where else to decide once nothing can be.
    fn prompt(&mut self, questions: &VecDeque<Question>) -> Outcome {
        let Some(open) = questions.iter().find(|question| !question.is_answered) else {
            return Ok(());
        };
        match &self.lines {
            None => {}
            Some(lines) if lines.has_ended() => {
                let id = open.approval.id;
                let told = format!(
                    "Nothing more is read here: `palyra approvals approve {id}` or `palyra approvals \
                     deny {id}` decides."
                );
                self.view.line(self.out, Tone::Doubtful, &told)?;
            }
            Some(_) => {
                self.out.tell("Approve? y or n, and why if you like: ");
                self.is_asking = true;
            }
        }
        Ok(())
    }

    /// Begins a new line below a question that somebody else may have answered.
    fn leave_question(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            self.out.tell("\n");
        }
    }

    /// A line is the answer to the question that is open, or waits for the end of the run.
    async fn typed(&mut self, line: String, questions: &mut VecDeque<Question>) -> Outcome {
        self.is_asking = false;
        let Some(question) = questions.iter_mut().find(|question| !question.is_answered) else {
            self.ahead.push_back(line);
            return Ok(());
        };
        let Some((verdict, reason)) = verdict(&line) else {
            return self.prompt(questions);
        };
        let payload_sha256 = Some(question.approval.payload_sha256.clone());
        let decision = ApprovalDecision { verdict, reason, payload_sha256 };
        let (out, client, id) = (self.out, self.client, question.approval.id);
        question.is_answered = true;
        match patiently(out, async || client.decide(id, &decision).await).await {
            // The tape tells what was decided.
            Ok(_) => {}
            Err(error) => self.view.line(out, Tone::Doubtful, &error.to_string())?,
        }
        self.prompt(questions)
    }

    async fn stop(&mut self, run: RunId) -> Outcome {
        self.leave_question();
        self.view.line(
            self.out,
            Tone::Doubtful,
            "stopping the run; Ctrl-C again leaves it alone",
        )?;
        let stopped = tokio::select! {
            stopped = self.client.wish(run, RunWish::Abort) => stopped,
            _ = self.interrupts.recv() => return self.left(run).map(drop),
        };
        match stopped {
            // The tape tells that it has ended.
            Ok(_) => Ok(()),
            Err(error) => self.view.line(self.out, Tone::Doubtful, &error.to_string()),
        }
    }

    fn left(&mut self, run: RunId) -> Result<Seen, Failure> {
        let what = format!("`palyra runs tail {run}` shows what becomes of it");
        self.view.line(self.out, Tone::Quiet, &what)?;
        Err(Failure::Interrupted)
    }

    fn aside(&mut self, say: impl FnOnce(&Output)) -> Outcome {
        self.leave_question();
        self.view.settle(self.out)?;
        say(self.out);
        Ok(())
    }
}

/// What is typed next, if anybody types.
pub(super) async fn typed(lines: &mut Option<Lines>) -> Option<String> {
    match lines {
        Some(lines) if !lines.has_ended() => lines.next().await,
        Some(_) | None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Yes or no, and what follows it as the reason.
pub(super) fn verdict(line: &str) -> Option<(ApprovalVerdict, Option<String>)> {
    let line = line.trim();
    let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.trim_end_matches([',', ':', '.']).to_lowercase();
    let verdict = match word.as_str() {
        "y" | "yes" => ApprovalVerdict::Approve,
        "n" | "no" => ApprovalVerdict::Deny,
        _ => return None,
    };
    let reason = reason.trim();
    Some((verdict, (!reason.is_empty()).then(|| reason.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_are_said_in_a_word_and_anything_else_is_neither() {
        let yes = |why: Option<&str>| Some((ApprovalVerdict::Approve, why.map(str::to_owned)));
        let no = |why: Option<&str>| Some((ApprovalVerdict::Deny, why.map(str::to_owned)));
        assert_eq!(verdict(" Y "), yes(None));
        assert_eq!(verdict("yes, as agreed"), yes(Some("as agreed")));
        assert_eq!(verdict("n"), no(None));
        assert_eq!(verdict("no: not there"), no(Some("not there")));
        for neither in ["", " ", "maybe", "yesterday", "nothing", "ny"] {
            assert_eq!(verdict(neither), None, "{neither:?}");
        }
    }
}

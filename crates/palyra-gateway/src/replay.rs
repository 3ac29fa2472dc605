//! Replaying a tape: whether what the engine wrote down is what it would decide today.
//!
//! What comes from outside is taken as recorded: what people said and decided, what models and tools
//! gave, pauses and stops, what became of messages, and what no tape tells, such as the clock, budgets
//! that are shared, files and who is there. Everything else has to follow from what is on the tape
//! before it, by the functions that the engine itself asks. Pieces of answers decide nothing, so a tape
//! without them says the same.

mod approvals;
mod batch;
mod calls;
mod ending;
mod models;
mod phases;
mod shows;
#[cfg(test)]
pub(crate) mod tests;
mod words;

use std::collections::BTreeMap;

use palyra_common::api::{Difference, Replayed};
use palyra_common::ids::{ApprovalId, EnvelopeId, RunId};
use palyra_common::runtime_contracts::{RunLifecyclePhase, ToolReach};
use palyra_common::tape::{DeliverySettled, Limits, TapeEntry, TapeEvent, ToolProposed};
use palyra_common::time::Duration;
use palyra_policy::budget::Amount;
use palyra_policy::run::{Next, Recovery, RunState, Used, next, recovery};

use batch::Batch;
use shows::Shows;

/// What a run used that its tape does not say: at least nothing.
const UNTOLD: Used = Used { active: Duration::ZERO, below: Amount { tokens: 0, micros: 0 } };

/// What would be decided today, in words, where that is not what was recorded.
type Checked = Result<(), String>;

/// Whether an event says all that it said when it was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// Its texts are those of the tape.
    Whole,
    /// Something was taken out of them: what is made of them cannot be made again.
    Redacted,
}

/// Replays one tape, event by event. What it keeps does not grow with the length of the tape, but for
/// what names its calls and messages.
#[derive(Debug)]
pub struct Replay {
    run: RunId,
    events: u64,
    first: Option<Difference>,
    state: RunState,
    /// What is decided already and written down in the same commit.
    owed: Option<Owed>,
    /// Calls that are being begun.
    batch: Option<Batch>,
    /// By what a run goes on that was not let go since; nothing: that is not told.
    limits: Option<Limits>,
    last: Last,
    /// Whether the calls of this turn are as the model spelled them.
    spelled: Texts,
    /// What was set aside for the last attempt.
    reserved: Amount,
    /// Questions without an answer, with their calls.
    asked: BTreeMap<ApprovalId, String>,
    /// What the calls of this turn touch.
    reach: BTreeMap<String, ToolReach>,
    /// What the calls of this turn show.
    shows: BTreeMap<String, Shows>,
    /// Calls whose result is what another run says, at any time.
    delegated: Vec<String>,
    /// Calls of this turn that were made, and whose messages may go out.
    made: Vec<String>,
    /// Messages that went out.
    sent: Vec<EnvelopeId>,
}

/// What has to come next.
#[derive(Debug)]
enum Owed {
    /// What the gate says about a call.
    Gate(usize, Box<ToolProposed>),
    /// A question about a call.
    Question(usize),
    /// That a call was refused.
    Refusal(usize),
    /// What a call has shown.
    Shows(Shows),
    /// The end, with what is said at it.
    End,
    /// The end, with what was begun and has none.
    LeftOver,
}

/// What came last, as far as that says what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A worker took the run.
    Taken,
    /// An attempt at a model came to nothing by itself.
    Failed,
    /// Anything else.
    Other,
}

impl Replay {
    /// Nothing is read yet of the tape of `run`.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            events: 0,
            first: None,
            state: RunState::new(),
            owed: None,
            batch: None,
            limits: None,
            last: Last::Other,
            spelled: Texts::Whole,
            reserved: Amount::default(),
            asked: BTreeMap::new(),
            reach: BTreeMap::new(),
            shows: BTreeMap::new(),
            delegated: Vec::new(),
            made: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Reads the next event. Says whether to go on: behind the first difference nothing can be said.
    pub fn read(&mut self, entry: &TapeEntry, texts: Texts) -> bool {
        if self.first.is_some() {
            return false;
        }
        match self.check(&entry.event, texts) {
            Ok(()) => {
                self.events += 1;
                self.state.apply(&entry.event);
                true
            }
            Err(today) => {
                self.first = Some(Difference { recorded: entry.clone(), today });
                false
            }
        }
    }

    /// What came of it.
    pub fn outcome(self) -> Replayed {
        Replayed {
            run: self.run,
            same: self.first.is_none(),
            events: self.events,
            end: self.state.end,
            difference: self.first,
        }
    }

    fn check(&mut self, event: &TapeEvent, texts: Texts) -> Checked {
        match event {
            // What is told of a stream may be gone, and decides nothing.
            TapeEvent::ModelDelta(_) => return Ok(()),
            TapeEvent::DeliverySettled(settled) => return self.settled(settled),
            _ => {}
        }
        if self.state.end.is_some() {
            return Err("nothing: the run has ended".to_owned());
        }
        if (self.events == 0) != matches!(event, TapeEvent::RunQueued(_)) {
            return Err("a tape begins with run.queued, once".to_owned());
        }
        match self.owed.take() {
            Some(owed) => self.owed(owed, event, texts)?,
            None => self.free(event, texts)?,
        }
        self.last = match event {
            TapeEvent::RunPhase(_) => phases::last(event),
            TapeEvent::ModelAbandoned(lost) if !lost.interrupted => Last::Failed,
            // What is said at the end stands before it.
            TapeEvent::DeliveryEnqueued(_) => self.last,
            _ => Last::Other,
        };
        Ok(())
    }

    /// What follows from a decision that was told by the event before.
    fn owed(&mut self, owed: Owed, event: &TapeEvent, texts: Texts) -> Checked {
        match (owed, event) {
            (Owed::Gate(call, proposed), TapeEvent::ToolGated(gated)) => {
                self.gated_as(call, &proposed, gated)
            }
            (Owed::Question(call), TapeEvent::ApprovalRequested(asked)) => self.asks(call, asked),
            (Owed::Refusal(call), TapeEvent::ToolCompleted(done)) => self.is_refused(call, done),
            (Owed::End, TapeEvent::RunFinished(finished)) => self.finished(finished, texts),
            (Owed::LeftOver, event) => self.leaves(event, texts),
            (Owed::Shows(shows), event) => self.shows(shows, event, texts),
            (owed, _) => Err(words::owed(&self.state, &owed)),
        }
    }

    /// What follows from where the run is.
    fn free(&mut self, event: &TapeEvent, texts: Texts) -> Checked {
        if self.batch.is_some() && !batch::is_part(event) {
            return Err(self.today());
        }
        let phase = self.state.phase;
        if is_of_worker(event) && phase != RunLifecyclePhase::Running {
            return Err(format!("nothing while the run is {phase}"));
        }
        match event {
            // Somebody said something.
            TapeEvent::RunQueued(_)
            | TapeEvent::InputMessage(_)
            | TapeEvent::ModelDelta(_)
            | TapeEvent::DeliverySettled(_) => Ok(()),
            TapeEvent::RunPhase(moved) => self.moved(moved),
            TapeEvent::ModelRequested(asked) => self.model_asked(asked),
            TapeEvent::ModelAbandoned(lost) => self.model_lost(lost),
            TapeEvent::ModelCompleted(answer) => self.model_answered(answer, texts),
            TapeEvent::ToolProposed(proposed) => self.proposed(proposed, texts),
            TapeEvent::ToolGated(gated) => self.gated(gated),
            TapeEvent::ApprovalRequested(asked) => self.human_asked(asked),
            TapeEvent::ApprovalDecided(decided) => self.decided(decided),
            TapeEvent::ToolStarted(started) => self.started(started),
            TapeEvent::ToolCompleted(done) => self.completed(done),
            TapeEvent::A2uiUpdate(_) => Err(format!("show nothing, and {}", self.today())),
            TapeEvent::DeliveryEnqueued(sent) => self.enqueued(&sent.envelope),
            TapeEvent::RunFinished(finished) => self.finished(finished, texts),
        }
    }

    /// What became of a message is told of those that were sent; again, where a human sent one again.
    fn settled(&self, settled: &DeliverySettled) -> Checked {
        match self.sent.contains(&settled.envelope) {
            true => Ok(()),
            false => Err("nothing: no such message was sent".to_owned()),
        }
    }

    /// What comes next in the run by what is known of it.
    fn next(&self) -> Next {
        self.next_within(self.limits)
    }

    fn next_within(&self, limits: Option<Limits>) -> Next {
        next(&self.state, &limits.unwrap_or(unbounded()), UNTOLD)
    }

    /// What whoever takes the run over does about this call.
    fn recovery(&self, call: usize) -> Option<Recovery> {
        recovery(&self.state).into_iter().find(|found| match found {
            Recovery::Again(index) | Recovery::AskHuman(index) => *index == call,
            Recovery::Abandon { .. } => false,
        })
    }

    /// The place of a call among those of the last turn.
    fn index(&self, id: &str) -> Option<usize> {
        self.state.calls.iter().position(|call| call.call.id == id)
    }

    /// What would be decided now, in words.
    fn today(&self) -> String {
        match &self.batch {
            Some(batch) => words::begin(&self.state, batch.left()),
            None => words::next(&self.state, &self.next()),
        }
    }
}

/// Whether only a worker that has the run writes this. What was begun is ended by others, too.
fn is_of_worker(event: &TapeEvent) -> bool {
    match event {
        TapeEvent::ModelRequested(_)
        | TapeEvent::ModelCompleted(_)
        | TapeEvent::ToolProposed(_)
        | TapeEvent::ToolGated(_)
        | TapeEvent::ApprovalRequested(_)
        | TapeEvent::ApprovalDecided(_)
        | TapeEvent::ToolStarted(_)
        | TapeEvent::A2uiUpdate(_) => true,
        TapeEvent::RunQueued(_)
        | TapeEvent::RunPhase(_)
        | TapeEvent::InputMessage(_)
        | TapeEvent::ModelDelta(_)
        | TapeEvent::ModelAbandoned(_)
        | TapeEvent::ToolCompleted(_)
        | TapeEvent::DeliveryEnqueued(_)
        | TapeEvent::DeliverySettled(_)
        | TapeEvent::RunFinished(_) => false,
    }
}

/// Limits that end nothing, where nobody knows which there were.
fn unbounded() -> Limits {
    let active = Duration::from_millis(u64::MAX);
    Limits { turns: u32::MAX, tool_calls: u32::MAX, active, ..Limits::default() }
}

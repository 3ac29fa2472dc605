//! Where two runs part: their decisions and results step by step, without what names them and when they
//! were.

mod step;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use palyra_common::api::{Compared, Parting, RunTotals};
use palyra_common::ids::RunId;
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_policy::run::RunState;

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// Compares two tapes as they are read. Keeps what one of them is ahead of the other.
#[derive(Debug)]
pub struct Comparison {
    left: Half,
    right: Half,
    steps: u64,
    parting: Option<Parting>,
}

#[derive(Debug)]
struct Half {
    run: RunId,
    agent: String,
    state: RunState,
    /// Steps that are not compared yet.
    ahead: VecDeque<TapeEntry>,
    is_over: bool,
}

impl Half {
    fn new(run: RunId) -> Self {
        let (agent, state) = (String::new(), RunState::new());
        Self { run, agent, state, ahead: VecDeque::new(), is_over: false }
    }

    fn totals(self) -> RunTotals {
        let RunState { turns, tool_calls, tokens, micros, end, .. } = self.state;
        let (run, agent) = (self.run, self.agent);
        RunTotals { run, agent, turns, tool_calls, tokens, cost_micros: micros, end }
    }
}

impl Comparison {
    /// Nothing is read yet.
    pub fn new(left: RunId, right: RunId) -> Self {
        Self { left: Half::new(left), right: Half::new(right), steps: 0, parting: None }
    }

    /// The one of which more has to be read. Nothing: both are over.
    pub fn wants(&self) -> Option<Side> {
        match (self.left.is_over, self.right.is_over) {
            (true, true) => None,
            (false, true) => Some(Side::Left),
            (true, false) => Some(Side::Right),
            (false, false) if self.left.ahead.len() <= self.right.ahead.len() => Some(Side::Left),
            (false, false) => Some(Side::Right),
        }
    }

    /// Reads on in one of them; it is over where there is no more.
    pub fn read(&mut self, side: Side, entries: Vec<TapeEntry>) {
        let has_parted = self.parting.is_some();
        let half = match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        };
        half.is_over = entries.is_empty();
        for entry in entries {
            if let TapeEvent::RunQueued(queued) = &entry.event {
                half.agent.clone_from(&queued.agent);
            }
            half.state.apply(&entry.event);
            if !has_parted && step::of(half.run, &entry.event).is_some() {
                half.ahead.push_back(entry);
            }
        }
        self.compare();
    }

    /// Compares what there is of both.
    fn compare(&mut self) {
        while self.parting.is_none() {
            let (left, right) = (self.left.ahead.front(), self.right.ahead.front());
            let is_end = |one: &Half, other: Option<&TapeEntry>| one.is_over && other.is_some();
            match (left, right) {
                (Some(one), Some(other)) => {
                    let left = step::of(self.left.run, &one.event);
                    let same = left == step::of(self.right.run, &other.event);
                    if !same {
                        return self.part();
                    }
                    self.steps += 1;
                    self.left.ahead.pop_front();
                    self.right.ahead.pop_front();
                }
                (None, more) if is_end(&self.left, more) => return self.part(),
                (more, None) if is_end(&self.right, more) => return self.part(),
                (_, _) => return,
            }
        }
    }

    fn part(&mut self) {
        let (left, right) = (self.left.ahead.pop_front(), self.right.ahead.pop_front());
        self.left.ahead.clear();
        self.right.ahead.clear();
        self.parting = Some(Parting { left, right });
    }

    /// What came of it.
    pub fn outcome(self) -> Compared {
        Compared {
            same: self.parting.is_none(),
            steps: self.steps,
            parting: self.parting,
            left: self.left.totals(),
            right: self.right.totals(),
        }
    }
}

//! Turns of a model: when it is asked, and what is read as its answer.

use palyra_common::tape::{ModelAbandoned, ModelCompleted, ModelRequested};
use palyra_policy::budget::Amount;
use palyra_policy::run::{Next, too_dear};

use super::{Checked, Owed, Replay, Texts, UNTOLD, unbounded, words};
use crate::engine::MOST_CALLS;

impl Replay {
    pub(super) fn model_asked(&mut self, asked: &ModelRequested) -> Checked {
        let today = self.next_within(asked.limits);
        if today != (Next::Ask { turn: asked.turn, attempt: asked.attempt }) {
            return Err(words::next(&self.state, &today));
        }
        let reserved = Amount { tokens: asked.reserved_tokens, micros: asked.reserved_micros };
        let limits = asked.limits.unwrap_or(unbounded());
        if let Some(end) = too_dear(&self.state, &limits, UNTOLD, reserved) {
            return Err(words::next(&self.state, &Next::Finish(end)));
        }
        (self.reserved, self.limits) = (reserved, asked.limits);
        self.made.clear();
        Ok(())
    }

    pub(super) fn model_lost(&self, lost: &ModelAbandoned) -> Checked {
        self.is_asked(lost.turn, lost.attempt)?;
        let Amount { tokens, micros } = self.reserved;
        if lost.interrupted && (lost.charged_tokens, lost.charged_micros) != (tokens, micros) {
            return Err(format!("charge all that was set aside: {tokens} tokens, {micros} micros"));
        }
        Ok(())
    }

    pub(super) fn model_answered(&mut self, answer: &ModelCompleted, texts: Texts) -> Checked {
        self.is_asked(answer.turn, answer.attempt)?;
        let named = |(n, id): (usize, &str)| id == format!("t{}c{n}", answer.turn);
        let ids = answer.calls.iter().map(|call| call.id.as_str());
        if answer.calls.len() > MOST_CALLS + 1 || !ids.enumerate().all(named) {
            return Err(format!("name up to {} calls in their order", MOST_CALLS + 1));
        }
        if answer.calls.len() > MOST_CALLS {
            self.owed = Some(Owed::Refusal(MOST_CALLS));
        }
        self.reach.clear();
        self.shows.clear();
        self.spelled = texts;
        Ok(())
    }

    /// Whether this is the attempt that is under way.
    fn is_asked(&self, turn: u32, attempt: u32) -> Checked {
        if self.state.asked == Some(attempt) && turn == self.state.turns + 1 {
            return Ok(());
        }
        Err(match self.state.asked {
            Some(attempt) => words::under_way(self.state.turns + 1, attempt),
            None => self.today(),
        })
    }
}

//! What calls show: it follows from their arguments.

use std::collections::VecDeque;

use palyra_common::a2ui::{Change, Message};
use palyra_common::tape::{TapeEvent, ToolProposed};

use super::{Checked, Owed, Replay, Texts};
use crate::tools::{Replaces, SHOW, shown};

/// What a call shows.
#[derive(Debug, Clone)]
pub(super) struct Shows {
    call: String,
    /// What is still to be shown; nothing: the arguments do not tell.
    left: Option<VecDeque<Message>>,
    /// What may be taken away before it. Whether it was there, and whether there was room, no tape tells.
    replaces: Replaces,
}

impl Shows {
    pub(super) fn words(&self) -> String {
        match self.left.as_ref().and_then(VecDeque::front) {
            Some(next) => format!("show, by {}: {}", self.call, next.to_value()),
            None => format!("tell what {} shows", self.call),
        }
    }
}

impl Replay {
    /// Remembers what a call is going to show, if it is one that shows something.
    pub(super) fn will_show(&mut self, proposed: &ToolProposed, texts: Texts) {
        let ToolProposed { call, tool, arguments, .. } = proposed;
        if tool != SHOW {
            return;
        }
        let arguments = serde_json::from_str(arguments).ok().filter(|_| texts == Texts::Whole);
        let told = arguments.and_then(|arguments| shown(self.run, call, &arguments).ok());
        let (left, replaces) = match told {
            Some(told) => (Some(told.messages.into()), told.replaces),
            None => (None, Replaces::Nothing),
        };
        self.shows.insert(call.clone(), Shows { call: call.clone(), left, replaces });
    }

    /// What follows a call that has shown something.
    pub(super) fn shows(&mut self, mut shows: Shows, event: &TapeEvent, texts: Texts) -> Checked {
        let TapeEvent::A2uiUpdate(update) = event else {
            return match shows.left {
                Some(_) => Err(shows.words()),
                None => self.free(event, texts),
            };
        };
        let today = || Err(shows.words());
        if update.call != shows.call {
            return today();
        }
        if let Some(left) = &mut shows.left {
            let is = |message: &Message| {
                message.surface == update.surface
                    && (texts == Texts::Redacted || message.to_value() == update.message)
            };
            let surface = update.surface.clone();
            let gone = Message { surface, change: Change::Delete };
            let replaces = std::mem::replace(&mut shows.replaces, Replaces::Nothing);
            if !(replaces.may_be(&update.surface) && is(&gone)) {
                match left.front() {
                    Some(next) if is(next) => drop(left.pop_front()),
                    _ => return Err(shows.words()),
                }
            }
            if left.is_empty() {
                return Ok(());
            }
        }
        self.owed = Some(Owed::Shows(shows));
        Ok(())
    }
}

//! What others tell the worker of a run.

use std::sync::atomic::{AtomicBool, Ordering};

use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::Trust;
use palyra_common::runtime_contracts::{ApprovalState, ToolOutcome};
use palyra_common::tape::{ApprovalDecided, TapeEvent, ToolCompleted};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// Tells whoever drives a run that there are signals for it, so that they need not be looked for in
/// vain.
#[derive(Debug, Default)]
pub(super) struct Call {
    waiting: AtomicBool,
    notify: Notify,
}

impl Call {
    /// There are some.
    pub(super) fn call(&self) {
        self.waiting.store(true, Ordering::SeqCst);
        self.notify.notify_one();
    }

    /// Whether there was a call since this was last asked. Signals are read after it, so that none is
    /// missed.
    pub(super) fn take(&self) -> bool {
        self.waiting.swap(false, Ordering::SeqCst)
    }

    /// Returns at a call, which is not taken by it.
    pub(super) async fn called(&self) {
        self.notify.notified().await;
    }
}

/// Something that a worker moves onto the tape of its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum Signal {
    /// A question was decided.
    Decided {
        /// The question.
        approval: ApprovalId,
        /// The call that it is about.
        call: String,
        /// The answer.
        state: ApprovalState,
        /// Who gave it.
        by: Option<String>,
        /// Why.
        reason: Option<String>,
    },
    /// A run that this one waits for has ended.
    ChildEnded {
        /// The call that it was made for.
        call: String,
        /// Whether it gave an answer.
        outcome: ToolOutcome,
        /// What it said.
        answer: String,
        /// How far that is trusted.
        trust: Trust,
    },
    /// Somebody stops it.
    Abort {
        /// Who.
        by: String,
    },
    /// An operator pauses it.
    Pause {
        /// Who.
        by: String,
    },
}

impl Signal {
    /// The event that it becomes, if it is one about a call.
    pub(crate) fn event(&self) -> Option<TapeEvent> {
        match self {
            Self::Decided { approval, call, state, by, reason } => {
                Some(TapeEvent::ApprovalDecided(ApprovalDecided {
                    approval: *approval,
                    call: call.clone(),
                    state: *state,
                    by: by.clone(),
                    reason: reason.clone(),
                }))
            }
            Self::ChildEnded { call, outcome, answer, trust } => {
                Some(TapeEvent::ToolCompleted(ToolCompleted {
                    call: call.clone(),
                    outcome: *outcome,
                    content: answer.clone(),
                    artifact: None,
                    trust: *trust,
                }))
            }
            Self::Abort { .. } | Self::Pause { .. } => None,
        }
    }
}

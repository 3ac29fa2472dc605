//! The rows that daemons leave behind, read while there is none; and the human who decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use palyra_common::ids::{ApprovalId, RunId};
use palyra_common::runtime_contracts::{
    ApprovalState, GateDecision, GateReason, OutboxState, RunLifecyclePhase as Phase, ToolEffect,
    ToolOutcome,
};
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_gateway::{Answer, Approvals, Run, Sessions, Verdict};
use palyra_storage::approval::ApprovalRecord;
use palyra_storage::{Database, OpenOptions, SystemClock};

const PAGE: u32 = 200;

/// An open database.
pub(crate) struct Rows {
    db: Database,
    sessions: Sessions,
    approvals: Approvals,
}

impl Rows {
    /// Opens them, and closes them after `look`.
    pub(crate) fn look<T>(options: OpenOptions, look: impl AsyncFnOnce(&Self) -> T) -> T {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let db = Database::open(options).await.unwrap();
            let clock = Arc::new(SystemClock);
            let sessions = Sessions::new(db.clone(), clock.clone());
            let approvals = Approvals::new(db.clone(), clock);
            let rows = Self { db, sessions, approvals };
            let seen = look(&rows).await;
            rows.db.close().await;
            seen
        })
    }

    pub(super) async fn questions(&self, state: Option<ApprovalState>) -> Vec<ApprovalRecord> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.approvals.list(after, state, PAGE).await.unwrap();
            let Some(last) = page.last() else { return all };
            after = Some(last.id);
            all.extend(page);
        }
    }

    pub(super) async fn decide(&self, id: ApprovalId, verdict: Verdict) {
        let (by, reason) = ("operator:ann".to_owned(), None);
        let answer = Answer { verdict, by, reason, payload_sha256: None };
        self.approvals.decide(id, answer, None).await.unwrap();
    }

    /// Every run with its tape.
    pub(super) async fn tapes(&self) -> BTreeMap<RunId, (Run, Vec<TapeEntry>)> {
        let (mut all, mut after) = (BTreeMap::new(), None);
        loop {
            let page = self.sessions.runs(after, None, None, PAGE).await.unwrap();
            let Some(last) = page.last() else { return all };
            after = Some(last.id);
            for run in page {
                let tape = self.sessions.tape(run.id, 0, 10_000).await.unwrap();
                all.insert(run.id, (run, tape));
            }
        }
    }

    /// Wherever its daemon died, what was decided in a run is what would be decided today.
    pub(super) async fn replays(&self, run: RunId) {
        let replayed = self.sessions.replay(run).await.unwrap();
        assert!(replayed.same, "{replayed:#?}");
    }

    /// Looks at what all tapes say became of messages, when nothing is left to do.
    pub(crate) async fn check_deliveries(&self) {
        for (_, tape) in self.tapes().await.values() {
            deliveries(tape);
        }
    }

    /// Whether some run has not ended, or not as far as it gets without a human.
    pub(crate) async fn is_busy(&self) -> bool {
        for phase in [Phase::Queued, Phase::Running] {
            if !self.sessions.runs(None, None, Some(phase), 1).await.unwrap().is_empty() {
                return true;
            }
        }
        false
    }
}

/// What became of the messages of a run: of each its tape says so once.
pub(super) fn deliveries(tape: &[TapeEntry]) -> Vec<OutboxState> {
    let (mut sent, mut settled, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for entry in tape {
        match &entry.event {
            TapeEvent::DeliveryEnqueued(message) => sent.push(&message.envelope),
            TapeEvent::DeliverySettled(message) => {
                settled.push(&message.envelope);
                states.push(message.state);
            }
            _ => {}
        }
    }
    sent.sort();
    settled.sort();
    assert_eq!(sent, settled, "{tape:#?}");
    states
}

/// How often a run made calls that change something, and how often it was allowed to: each call
/// once by the gate, and once by each yes of a human.
pub(super) fn side_effects(tape: &[TapeEntry]) -> BTreeMap<String, (u32, u32)> {
    let mut calls = BTreeMap::<String, (u32, u32)>::new();
    let mut with_result = BTreeSet::new();
    for entry in tape {
        match &entry.event {
            TapeEvent::ToolProposed(call) if call.effect == ToolEffect::SideEffect => {
                calls.entry(call.call.clone()).or_default();
                if call.with_result {
                    with_result.insert(&call.call);
                }
            }
            TapeEvent::ToolGated(gated)
                if gated.decision == GateDecision::Allow
                    && gated.reason != GateReason::OutcomeUnknown =>
            {
                calls.entry(gated.call.clone()).and_modify(|(_, leave)| *leave += 1);
            }
            TapeEvent::ApprovalDecided(decided) if decided.state == ApprovalState::Approved => {
                calls.entry(decided.call.clone()).and_modify(|(_, leave)| *leave += 1);
            }
            // What it does is done with its result, which there is once, however often it is begun.
            TapeEvent::ToolStarted(started) if with_result.contains(&started.call) => {
                calls.entry(started.call.clone()).and_modify(|(made, _)| *made = 1);
            }
            TapeEvent::ToolStarted(started) => {
                calls.entry(started.call.clone()).and_modify(|(made, _)| *made += 1);
            }
            _ => {}
        }
    }
    calls
}

/// How the calls of a run ended, with their tools. A call that was refused before it was looked at
/// has none.
pub(super) fn ended(tape: &[TapeEntry]) -> Vec<(String, ToolOutcome)> {
    let mut tools = BTreeMap::new();
    let mut ended = Vec::new();
    for entry in tape {
        match &entry.event {
            TapeEvent::ToolProposed(call) => {
                tools.insert(&call.call, &call.tool);
            }
            TapeEvent::ToolCompleted(done) => {
                let tool = tools.get(&done.call).map(|tool| (*tool).clone()).unwrap_or_default();
                ended.push((tool, done.outcome));
            }
            _ => {}
        }
    }
    ended
}

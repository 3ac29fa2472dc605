//! Sends what is due, as much at once as there are lanes for.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Reconciled, Repeat};
use palyra_storage::lease::Lease;
use palyra_storage::{StorageError, crash_point, describe};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::Instant;

use super::Shared;
use crate::adapter::{Admission, ConnectorAdapter, Found, Permit};
use crate::operation::EntryKey;
use crate::outbox::{Attempt, Begun, Due, Report, Settled};
use crate::store::connectors::Connector;
use crate::store::outbox::Stored;
use crate::{ChannelError, Reason, metrics};

/// Attempts whose ends are written down together.
const SETTLED_TOGETHER: usize = 256;

/// How long to wait when the database does not take what came of an attempt.
const PAUSE: Duration = Duration::from_millis(200);
/// When to ask an adapter again that has not said whether something may be sent.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long to wait before the next entries of lanes whose first were given up.
const SHORT_PAUSE: Duration = Duration::from_millis(5);

/// The platform has not said what became of it.
const NOTHING_FOUND: Found = Found { outcome: Reconciled::StillUnknown, native: None };

/// What became of what was due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// It is under way, or waits for the platform.
    Done,
    /// Some was not begun: it was given up, or has changed.
    Unfinished,
}

pub(super) struct Drain {
    shared: Arc<Shared>,
    pub(super) connector: Arc<Connector>,
    adapter: Arc<dyn ConnectorAdapter>,
    pub(super) lease: Lease,
    pub(super) repeat: Repeat,
    sends: JoinSet<Settled>,
    looks: JoinSet<(Stored, Found)>,
    /// What is looked for, and by which task, until what that found is written down.
    looking: HashMap<EntryKey, (task::Id, Stored)>,
    /// What was found and is not written down yet.
    found: Vec<(Stored, Found)>,
    /// What came of attempts and is not written down yet.
    unsettled: Vec<Settled>,
    next_due: Option<Timestamp>,
    /// Attempts may be written down under our token that nobody makes: of a worker that has failed, or
    /// because it was not told that they were written down. They are seen to before others begin.
    in_doubt: bool,
    /// The platform does not know us any more, for this reason.
    pub(super) auth_failed: Option<Reason>,
}

impl Drain {
    pub(super) fn new(
        shared: Arc<Shared>,
        connector: Arc<Connector>,
        adapter: Arc<dyn ConnectorAdapter>,
        lease: Lease,
    ) -> Self {
        Self {
            repeat: adapter.capabilities().repeat,
            shared,
            connector,
            adapter,
            lease,
            sends: JoinSet::new(),
            looks: JoinSet::new(),
            looking: HashMap::new(),
            found: Vec::new(),
            unsettled: Vec::new(),
            next_due: None,
            in_doubt: true,
            auth_failed: None,
        }
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.unsettled.is_empty()
    }

    /// Begins what is due. What fails here is tried again at the next look.
    pub(super) async fn start(&mut self) {
        if let Err(error) = self.try_start().await {
            let (connector, error) = (&self.connector.id, describe(&error));
            tracing::warn!(%connector, error, "nothing could be sent; trying again");
            self.next_due = Some(self.shared.clock.now() + PAUSE.into());
        }
    }

    async fn try_start(&mut self) -> Result<(), ChannelError> {
        let id = self.connector.id.clone();
        self.next_due = None;
        if self.in_doubt {
            if !self.is_empty() {
                return Ok(());
            }
            self.shared.outbox.recover_own(&self.lease, self.repeat, &id).await?;
            self.in_doubt = false;
        }
        let free = self.free_lanes();
        if free == 0 {
            return Ok(());
        }
        // Those that are looked for are due until the answer is written down, and so may those be
        // whose end waits to be.
        let known = self.looking.len() + self.unsettled.len();
        let limit = free.saturating_add(known);
        let due = self.shared.outbox.due(&id, u32::try_from(limit).unwrap_or(u32::MAX)).await?;
        let mut to_send = Vec::new();
        for due in due {
            match due {
                Due::Look(stored) => self.look(stored),
                // Its end may be written down without our knowing. Before we do, there is no next
                // attempt that it could be taken for the end of.
                Due::Send(stored) if self.is_unsettled(&stored.key) => {}
                Due::Send(stored) => to_send.push(stored),
            }
        }
        let mut pause = PAUSE;
        if !to_send.is_empty() && self.begin(to_send).await? == Round::Unfinished {
            pause = SHORT_PAUSE;
        }
        // While every lane is busy, the end of one is what to wait for.
        if self.free_lanes() > 0 {
            let next_due = self.shared.outbox.next_due(&id).await?;
            let now = self.shared.clock.now();
            // What is still due is looked for, or can only be sent after a change elsewhere.
            self.next_due = next_due.map(|due| if due > now { due } else { now + pause.into() });
        }
        Ok(())
    }

    fn is_unsettled(&self, key: &EntryKey) -> bool {
        self.unsettled.iter().any(|settled| settled.begun.stored.key == *key)
    }

    fn free_lanes(&self) -> usize {
        let lanes = usize::try_from(self.connector.queue.lanes).unwrap_or(usize::MAX);
        lanes.saturating_sub(self.sends.len() + self.looking.len())
    }

    /// Begins what the platform admits of what is due.
    async fn begin(&mut self, due: Vec<Stored>) -> Result<Round, ChannelError> {
        let (attempts, mut permits) = self.admit(due).await;
        // From before it is written down: however late that is known, nobody else may have waited for
        // longer.
        let began = Instant::now();
        let (outbox, repeat) = (&self.shared.outbox, self.repeat);
        let begun = outbox.begin(&self.connector, &self.lease, repeat, attempts).await;
        self.in_doubt =
            matches!(&begun, Err(ChannelError::Storage(StorageError::CommitUnknown(_))));
        for begun in begun? {
            if let Some(permit) = permits.remove(&begun.stored.key) {
                self.send(begun, permit, began);
            }
        }
        Ok(if permits.is_empty() { Round::Done } else { Round::Unfinished })
    }

    /// Asks the platform for its leave, for all at once. An adapter that does not answer is asked
    /// again a little later.
    async fn admit(&self, due: Vec<Stored>) -> (Vec<Attempt>, HashMap<EntryKey, Permit>) {
        let (mut attempts, mut permits) = (Vec::with_capacity(due.len()), HashMap::new());
        let asked = due.iter().map(|stored| {
            let admitted = AssertUnwindSafe(async { self.adapter.admit(stored).await });
            tokio::time::timeout(PAUSE, admitted.catch_unwind())
        });
        let answers = join_all(asked).await;
        let later = self.shared.clock.now() + ASK_AGAIN.into();
        for (stored, answer) in due.into_iter().zip(answers) {
            attempts.push(match answer.ok().and_then(Result::ok) {
                Some(Admission::Ready(permit)) => {
                    permits.insert(stored.key.clone(), permit);
                    Attempt::Begin(stored)
                }
                Some(Admission::NotBefore(until)) => Attempt::Wait(stored, until),
                None => Attempt::Ask(stored, later),
            });
        }
        (attempts, permits)
    }

    /// Until `attempt_timeout` after `began`: then another node may take over what it finds under way.
    fn send(&mut self, begun: Begun, permit: Permit, began: Instant) {
        let (adapter, shared) = (self.adapter.clone(), self.shared.clone());
        let until = began + Duration::from(self.connector.queue.attempt_timeout);
        self.sends.spawn(async move {
            if Instant::now() >= until {
                return Settled { begun, report: too_late() };
            }
            crash_point!("outbox.before_send");
            let sending = AssertUnwindSafe(async { adapter.send(&begun.stored, permit).await });
            let report = match tokio::time::timeout_at(until, sending.catch_unwind()).await {
                Ok(Ok(report)) => report.cleaned(&*shared.outgoing),
                Ok(Err(_panic)) => unclear("the connector failed while it sent"),
                Err(_elapsed) => unclear("the platform did not answer in time"),
            };
            crash_point!("outbox.after_send");
            metrics::tried(&begun.stored, &report, shared.clock.now());
            Settled { begun, report }
        });
    }

    fn look(&mut self, stored: Stored) {
        if self.looking.contains_key(&stored.key) {
            return;
        }
        let looked = stored.clone();
        let adapter = self.adapter.clone();
        let limit = Duration::from(self.connector.queue.attempt_timeout);
        let task = self.looks.spawn(async move {
            let looking = AssertUnwindSafe(async { adapter.reconcile(&stored).await });
            let looking = tokio::time::timeout(limit, looking.catch_unwind());
            let found = looking.await.ok().and_then(Result::ok);
            (stored, found.unwrap_or(NOTHING_FOUND))
        });
        self.looking.insert(looked.key.clone(), (task.id(), looked));
    }

    /// Waits until something has ended or something is due. May be dropped at any time.
    pub(super) async fn progress(&mut self) {
        let due = self.next_due.map(|due| due.since(self.shared.clock.now()).into());
        let written = self.unsettled.is_empty() && self.found.is_empty();
        let pause = if written { due } else { Some(PAUSE) };
        tokio::select! {
            Some(sent) = self.sends.join_next() => self.sent(sent),
            Some(looked) = self.looks.join_next() => self.looked(looked),
            () = pause_for(pause) => {}
        }
    }

    /// A task that has failed does not say which attempt it made: it is one that nobody makes now.
    fn sent(&mut self, sent: Result<Settled, JoinError>) {
        match sent {
            Ok(settled) => self.unsettled.push(settled),
            Err(error) => {
                self.in_doubt = true;
                self.tell_failed(&error);
            }
        }
    }

    /// A task that has failed has found nothing.
    fn looked(&mut self, looked: Result<(Stored, Found), JoinError>) {
        let error = match looked {
            Ok(found) => return self.found.push(found),
            Err(error) => error,
        };
        self.tell_failed(&error);
        let mut looking = self.looking.values();
        if let Some((_, stored)) = looking.find(|(task, _)| *task == error.id()) {
            self.found.push((stored.clone(), NOTHING_FOUND));
        }
    }

    fn tell_failed(&self, error: &JoinError) {
        tracing::error!(connector = %self.connector.id, %error, "a task of a connector failed");
    }

    /// Writes down what has ended. What the database does not take is kept for the next time.
    pub(super) async fn write(&mut self) {
        self.settle().await;
        for (looked, found) in std::mem::take(&mut self.found) {
            self.reconciled(looked, found).await;
        }
    }

    async fn settle(&mut self) {
        while self.unsettled.len() < SETTLED_TOGETHER
            && let Some(sent) = self.sends.try_join_next()
        {
            self.sent(sent);
        }
        if self.unsettled.is_empty() {
            return;
        }
        for settled in &self.unsettled {
            if let Report::AuthFailed { reason } = &settled.report {
                self.auth_failed = Some(reason.clone());
            }
        }
        match self.shared.outbox.settle(self.repeat, self.unsettled.clone()).await {
            Ok(()) => self.unsettled.clear(),
            Err(error) if is_refusal(&error) => self.settle_one_by_one().await,
            Err(error) => self.tell_waiting(&error),
        }
    }

    /// The database refuses what came of some attempt, and will again: the others do not wait for it.
    async fn settle_one_by_one(&mut self) {
        for settled in std::mem::take(&mut self.unsettled) {
            match self.shared.outbox.settle(self.repeat, vec![settled.clone()]).await {
                Ok(()) => {}
                Err(error) if is_refusal(&error) => self.doubt(settled, &error).await,
                Err(error) => {
                    self.tell_waiting(&error);
                    self.unsettled.push(settled);
                }
            }
        }
    }

    /// What came of an attempt cannot be kept, as when it was delivered under the name of another
    /// message: nobody knows then what became of it. If not even that can be kept, it stays under way,
    /// as one that nobody makes.
    async fn doubt(&mut self, settled: Settled, error: &ChannelError) {
        let (connector, error) = (&self.connector.id, describe(error));
        let envelope = &settled.begun.stored.key.envelope;
        tracing::error!(%connector, %envelope, error, "an outcome cannot be kept");
        let report = unclear("what came of it could not be kept");
        let doubted = vec![Settled { report, ..settled }];
        self.in_doubt |= self.shared.outbox.settle(self.repeat, doubted).await.is_err();
    }

    fn tell_waiting(&self, error: &ChannelError) {
        let (connector, error) = (&self.connector.id, describe(error));
        tracing::warn!(%connector, error, "what came of attempts waits to be written down");
    }

    async fn reconciled(&mut self, looked: Stored, found: Found) {
        let (lease, outbox, native) = (&self.lease, &self.shared.outbox, found.native.clone());
        match outbox.reconciled(lease, self.repeat, &looked, found.outcome, native).await {
            Ok(()) => {
                self.looking.remove(&looked.key);
            }
            Err(error) => {
                let (connector, error) = (&self.connector.id, describe(&error));
                tracing::warn!(%connector, error, "what became of a message waits to be kept");
                self.found.push((looked, found));
            }
        }
    }
}

/// Whether it is what was to be written that the database does not take, and not the database that
/// takes nothing now.
fn is_refusal(error: &ChannelError) -> bool {
    match error {
        ChannelError::Storage(StorageError::InvalidValue { .. } | StorageError::Constraint(_)) => {
            true
        }
        ChannelError::Storage(_) => false,
        ChannelError::NoConnector(_)
        | ChannelError::NoEntry(_)
        | ChannelError::NoDeadLetter { .. }
        | ChannelError::NotNow { .. }
        | ChannelError::Parts { .. }
        | ChannelError::LaneFull { .. }
        | ChannelError::OtherMessage(_)
        | ChannelError::NotHere(_)
        | ChannelError::NotCapable { .. }
        | ChannelError::Platform { .. }
        | ChannelError::Invalid(_) => true,
    }
}

/// Nothing was asked of the platform.
fn too_late() -> Report {
    let reason = "it was known too late that the attempt may begin".into();
    Report::Retry { class: RetryClass::ConnectorRestarting, after: None, reason }
}

fn unclear(reason: &str) -> Report {
    Report::Unknown { reason: reason.into() }
}

async fn pause_for(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

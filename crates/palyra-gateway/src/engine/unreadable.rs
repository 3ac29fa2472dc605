//! The end of a run of which nobody can read what happened in it.

use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};
use palyra_common::tape::{DeliveryEnqueued, RunFinished, TapeEvent};
use palyra_policy::run::{Event, RunState, phase};
use palyra_storage::Tx;

use super::EngineOptions;
use super::commit::{Beside, Commit, Committed, Then, Undo};
use super::drive::MOST_RECOVERIES;
use super::finish::{answer, next_step, reply};
use crate::error::GatewayError;
use crate::metrics;
use crate::store::runs::Run;
use crate::store::{budgets, sessions, tape};

/// What is said about it.
pub(crate) const DETAIL: &str = "what happened in it cannot be read";
const END: RunEnd = RunEnd::CrashLoop;
/// Why that has to wait.
const NO_ROOM: &str = "there is no room in its channel for what it says at its end";

/// Whether a run that could not be read is not tried again.
pub(super) fn is_given_up(run: &Run, error: &GatewayError) -> bool {
    run.recoveries >= MOST_RECOVERIES && !error.envelope().retryable()
}

/// Ends it, so that its session goes on. Says whether it is no longer this worker's.
pub(super) async fn give_up(
    options: &EngineOptions,
    worker: i64,
    run: Run,
) -> Result<bool, GatewayError> {
    let (id, now) = (run.id, options.clock.now());
    let taken = phase(run.phase, Event::Taken).unwrap_or(run.phase);
    let to = phase(taken, Event::Failed);
    let to = to.ok_or(GatewayError::NotNow { run: id, phase: taken, wanted: "given up" })?;
    let (events, beside) = last_words(options, &run, to).await?;
    let spent = options.db.read(move |tx: &mut Tx<'_>| budgets::of_run(tx, id)).await?;
    let commit = Commit {
        active: run.active,
        run,
        worker,
        lines: tape::lines(&events)?,
        then: Then::End(to, END),
        beside: Beside { spent: Some(spent), unread: true, ..beside },
        // Whatever was asked and not written down may have to be paid.
        charged: spent,
        progress: true,
        state: RunState { phase: to, ..RunState::new() },
        snapshot_seq: 0,
    };
    let committed = match options.db.try_write(move |tx| commit.write(tx, now)).await {
        Ok(committed) | Err(Undo::Because(committed)) => committed,
        Err(Undo::Failed(error)) => return Err(error),
    };
    match committed {
        Committed::Done { first, .. } => {
            metrics::ended(END);
            options.streams.tell(id, first, events, now);
            Ok(true)
        }
        Committed::Lost => Ok(true),
        Committed::QueueFull(_) | Committed::Signalled | Committed::Spent(_) => {
            Err(GatewayError::Invalid(NO_ROOM.to_owned()))
        }
    }
}

/// What is said about it.
async fn last_words(
    options: &EngineOptions,
    run: &Run,
    phase: RunLifecyclePhase,
) -> Result<(Vec<TapeEvent>, Beside), GatewayError> {
    let of = run.session;
    let session = options.db.read(move |tx: &mut Tx<'_>| sessions::one(tx, of)).await?;
    let answer = options.outgoing.clean(&answer(END, "", Some(DETAIL)));
    let reply = match &session {
        Some(session) => reply(&*options.outgoing, run, session, &answer)?,
        None => None,
    };
    let sent = reply.iter().map(|reply| {
        let (connector, envelope) = (reply.connector.clone(), reply.id.clone());
        TapeEvent::DeliveryEnqueued(DeliveryEnqueued { connector, envelope })
    });
    let finished = TapeEvent::RunFinished(RunFinished {
        phase,
        end: END,
        answer: answer.clone(),
        detail: Some(DETAIL.to_owned()),
        hint: next_step(END).map(str::to_owned),
        limits: None,
    });
    let events = sent.chain([finished]).collect();
    Ok((events, Beside { reply, answer, ..Beside::default() }))
}

//! What is known of a run when a worker begins with it, read at once.

use palyra_common::tape::TapeEntry;
use palyra_policy::run::RunState;
use palyra_storage::{StorageError, Tx};

use super::charge::{Above, above};
use super::commit::SNAPSHOT_EVERY;
use super::context::{Recipe, Spoken};
use super::signal::Signal;
use crate::store::agents::Agent;
use crate::store::runs::Run;
use crate::store::sessions::Session;
use crate::store::{agents, from_text, run_signals, runs, sessions, tape};

pub(super) struct Known {
    pub(super) state: RunState,
    pub(super) snapshot_seq: i64,
    pub(super) signals: Vec<(String, Signal)>,
    pub(super) session: Option<Session>,
    pub(super) agent: Option<Agent>,
    /// The runs that it works for, the nearest first.
    pub(super) above: Vec<Above>,
    /// What a model is asked first, of a run that is at its beginning.
    pub(super) spoken: Option<Spoken>,
}

impl Known {
    pub(super) fn read(tx: &mut Tx<'_>, run: &Run) -> Result<Self, StorageError> {
        let Folded { state, snapshot_seq, tape } = fold(tx, run)?;
        let signals = run_signals::of_run(tx, run.id)?;
        let session = sessions::one(tx, run.session)?;
        let agent = agents::one(tx, &run.agent)?;
        let spoken = match &session {
            Some(session) if snapshot_seq == 0 && state.turns == 0 => {
                Some(Recipe::of(run, session).read_with(tx, &tape)?)
            }
            Some(_) | None => None,
        };
        let above = above(tx, run)?;
        Ok(Self { state, snapshot_seq, signals, session, agent, above, spoken })
    }
}

/// A run as its tape tells it.
struct Folded {
    state: RunState,
    snapshot_seq: i64,
    /// What there is behind the snapshot.
    tape: Vec<TapeEntry>,
}

/// How far a run has come.
pub(crate) fn state_of(tx: &mut Tx<'_>, run: &Run) -> Result<RunState, StorageError> {
    Ok(fold(tx, run)?.state)
}

fn fold(tx: &mut Tx<'_>, run: &Run) -> Result<Folded, StorageError> {
    // A short tape has none.
    let (snapshot, snapshot_seq) = match run.next_seq > SNAPSHOT_EVERY {
        true => runs::snapshot(tx, run.id)?,
        false => (None, 0),
    };
    let mut state = match snapshot {
        Some(kept) => from_text(&kept)?,
        None => RunState::new(),
    };
    let tape = tape::folded(tx, run.id, snapshot_seq)?;
    tape.iter().for_each(|entry| state.apply(&entry.event));
    Ok(Folded { state, snapshot_seq, tape })
}

//! Going on from a conversation in another one.

use palyra_common::ids::{RunId, SessionId};
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

use super::Title;
use super::acts::{found, locked};
use crate::error::GatewayError;
use crate::lineage::inherited;
use crate::store::sessions::{Fork, NewFork, Session};
use crate::store::{agents, runs, sessions};

/// A conversation that begins with the history of another one.
#[derive(Debug, Clone)]
pub(crate) struct Forked {
    pub(crate) id: SessionId,
    pub(crate) from: SessionId,
    /// The last run that belongs to the history. Nothing: the last that has ended.
    pub(crate) through: Option<RunId>,
    /// What it is called. Nothing: what the other one is.
    pub(crate) title: Option<Title>,
    pub(crate) surface: &'static str,
}

impl Forked {
    /// Begins it. What models are shown of the other one now is what they are shown in this one for good,
    /// whatever becomes of the other.
    pub(crate) fn begin(
        &self,
        tx: &mut Tx<'_>,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Session, GatewayError> {
        let from = locked(tx, self.from, expected)?;
        if agents::one(tx, &from.agent)?.is_none() {
            return Err(GatewayError::NoAgent(from.agent));
        }
        let fork = match self.through {
            Some(run) => through(tx, &from, run)?,
            None => all_of(tx, &from)?,
        };
        let new = NewFork {
            id: self.id,
            agent: &from.agent,
            surface: self.surface,
            title: self.title.as_ref().map_or(&from.title, Title::as_str),
            next_run: from.next_run,
            fork,
        };
        sessions::add_fork(tx, &new, now)?;
        found(tx, self.id)
    }
}

/// What models are shown of a conversation now. One that has nothing of its own gives what it has from
/// others: each part of a history holds a run.
fn all_of(tx: &mut Tx<'_>, from: &Session) -> Result<Fork, StorageError> {
    let own = Fork { from: from.id, shown: from.shown, until: from.next_history };
    match from.fork {
        Some(part) if own.shown.is_all() && runs::in_part(tx, own, i64::MAX, 1)?.is_empty() => {
            Ok(part)
        }
        Some(_) | None => Ok(own),
    }
}

/// What models are shown of a conversation up to the end of a run.
fn through(tx: &mut Tx<'_>, from: &Session, run: RunId) -> Result<Fork, GatewayError> {
    let run = runs::one(tx, run)?.ok_or(GatewayError::NoRun(run))?;
    let mut parts = vec![Fork { from: from.id, shown: from.shown, until: from.next_history }];
    if from.shown.is_all() {
        parts.extend(inherited(tx, from)?);
    }
    let Some(part) = parts.into_iter().find(|part| part.from == run.session) else {
        return Err(elsewhere(&run, from));
    };
    let Some(history) = run.history else {
        return Err(GatewayError::NotNow { run: run.id, phase: run.phase, wanted: "gone on from" });
    };
    let is_shown = history >= part.shown.history && run.session_seq >= part.shown.run;
    if !is_shown || history >= part.until {
        return Err(elsewhere(&run, from));
    }
    Ok(Fork { until: history + 1, ..part })
}

fn elsewhere(run: &runs::Run, from: &Session) -> GatewayError {
    let (run, from) = (run.id, from.id);
    GatewayError::Invalid(format!(
        "through: models are not shown the run {run} in the session {from}: take a run of that session \
         which has ended, and after its last reset"
    ))
}

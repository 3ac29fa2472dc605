//! What was said in a conversation, for those who read it.

use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::{RunLifecyclePhase, Trust};
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

use crate::error::GatewayError;
use crate::lineage::inherited;
use crate::sessions::Sessions;
use crate::store::runs::Run;
use crate::store::sessions::{Fork, Session};
use crate::store::{runs, sessions, tape};

/// Runs that are read at once.
const RUNS: u32 = 32;
/// What is read of one run.
const EVENTS: u32 = 1_000;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSaid {
    /// The place of its run in the conversation.
    pub place: i64,
    /// Its run.
    pub run: RunId,
    /// Its place on the tape.
    pub seq: i64,
    /// Whether the agent said it.
    pub by_agent: bool,
    /// Who.
    pub sender: String,
    /// How far it is trusted.
    pub trust: Trust,
    /// What.
    pub text: String,
    /// Where the run is.
    pub phase: RunLifecyclePhase,
    /// When.
    pub at: Timestamp,
}

impl Sessions {
    /// What was said in a conversation, the newest first, behind the place of a run and an event of it.
    pub async fn messages(
        &self,
        session: SessionId,
        after: Option<(i64, i64)>,
        limit: u32,
    ) -> Result<Vec<SessionSaid>, GatewayError> {
        let read = move |tx: &mut Tx<'_>| match sessions::one(tx, session)? {
            Some(session) => read(tx, &session, after, limit as usize).map(Some),
            None => Ok(None),
        };
        self.db().read(read).await?.ok_or(GatewayError::NoSession(session))
    }
}

/// Where runs are read from: the conversation itself, then what comes before it.
enum Place {
    Own(SessionId),
    Inherited(Fork),
}

impl Place {
    fn runs(&self, tx: &mut Tx<'_>, below: i64) -> Result<Vec<Run>, StorageError> {
        match self {
            Self::Own(session) => runs::in_session(tx, *session, below, RUNS),
            Self::Inherited(part) => runs::in_part(tx, *part, below, RUNS),
        }
    }
}

fn read(
    tx: &mut Tx<'_>,
    session: &Session,
    after: Option<(i64, i64)>,
    limit: usize,
) -> Result<Vec<SessionSaid>, StorageError> {
    let mut said = Vec::new();
    // The run that the last page ended in may have more.
    let mut below = after.map_or(i64::MAX, |(place, _)| place.saturating_add(1));
    let inherited = inherited(tx, session)?.into_iter().map(Place::Inherited);
    for place in [Place::Own(session.id)].into_iter().chain(inherited) {
        loop {
            let page = place.runs(tx, below)?;
            for run in &page {
                for entry in tape::spoken(tx, run.id, EVENTS)? {
                    let is_new = after.is_none_or(|after| (run.session_seq, entry.seq) < after);
                    said.extend(told(run, entry).filter(|_| is_new));
                }
                if said.len() >= limit {
                    said.truncate(limit);
                    return Ok(said);
                }
            }
            match page.last() {
                Some(last) if page.len() >= RUNS as usize => below = last.session_seq,
                Some(_) | None => break,
            }
        }
    }
    Ok(said)
}

/// A message; nothing of what went on between an agent and its tools.
fn told(run: &Run, entry: TapeEntry) -> Option<SessionSaid> {
    let (by_agent, sender, trust, text) = match entry.event {
        TapeEvent::InputMessage(input) => (false, input.sender, input.trust, input.text),
        TapeEvent::RunFinished(finished) if !finished.answer.is_empty() => {
            (true, format!("agent:{}", run.agent), Trust::Operator, finished.answer)
        }
        _ => return None,
    };
    Some(SessionSaid {
        place: run.session_seq,
        run: run.id,
        seq: entry.seq,
        by_agent,
        sender,
        trust,
        text,
        phase: run.phase,
        at: entry.at,
    })
}

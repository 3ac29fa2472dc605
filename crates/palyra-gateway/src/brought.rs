//! Runs of those who bring the conversation with them, and what is kept of it between them.

use std::collections::{BTreeMap, BTreeSet};

use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::{RunEnd, Trust};
use palyra_common::tape::{Brought, BroughtMessage, Call, Input, TapeEvent};
use palyra_common::text::strip_nul;
use palyra_common::time::Timestamp;
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::once::{Claim, Made, Once};
use palyra_storage::{StorageError, Tx, new_id};

use crate::engine::{NewInput, Place, call_name, images, submit_with};
use crate::error::GatewayError;
use crate::sessions::Sessions;
use crate::store::{runs, sessions, tape};
use crate::tools::holder;

/// The surface of their conversations.
const SURFACE: &str = "openai";
/// How many events of a run are read that has asked for tools of whoever began it, and how many such
/// runs.
const MOST_EVENTS: u32 = 1_000;
const MOST_RUNS: usize = 64;
/// How much of what they did is put into one conversation, in bytes. Of the others stands what the caller
/// knows.
const MOST_BYTES: usize = 1 << 20;
/// How much is written down of a run that is looked into, in bytes: more than of it is put anywhere, since
/// what is written has escapes.
const MOST_WRITTEN: usize = 2 * MOST_BYTES;

/// What runs did themselves.
type Steps = BTreeMap<RunId, Vec<BroughtMessage>>;

/// What somebody asks who brings the conversation with them.
#[derive(Debug, Clone)]
pub struct Bring {
    /// Who answers.
    pub agent: AgentId,
    /// Under which key the conversation is kept. Nothing: it ends with its run, and is put away.
    pub kept_as: Option<String>,
    /// Everything that was said before, and what goes with it.
    pub whole: Brought,
    /// What of it was said since the last answer: all that is new to a conversation that was kept.
    pub new: Vec<BroughtMessage>,
    /// What is asked; nothing where the last message is the result of a call.
    pub input: Option<String>,
    /// How far whoever asks is trusted.
    pub trust: Trust,
}

impl Sessions {
    /// Begins a run with all that belongs to it. With `once`, doing it again finds the same run. A tool
    /// that the caller brings may have no name of ours: whoever calls this has looked.
    pub async fn bring(
        &self,
        bring: Bring,
        once: Option<(palyra_common::Principal, Once)>,
    ) -> Result<Made<RunId>, GatewayError> {
        let steps = self.own_steps(&bring).await?;
        let (now, worker) = (self.now(), self.free_hand());
        let begin = move |tx: &mut Tx<'_>| -> Result<RunId, GatewayError> {
            let run = begin(tx, &bring, &steps, worker, now)?;
            let Some((by, once)) = &once else { return Ok(run) };
            match once.claim(tx, by, &run.to_string(), now)? {
                Claim::First => Ok(run),
                Claim::Again { made } => Err(GatewayError::Before(made)),
                Claim::Taken => Err(GatewayError::KeyTaken),
            }
        };
        match self.db().try_write(begin).await {
            // Undone, and told what was made the first time.
            Err(GatewayError::Before(made)) => {
                Ok(Made::Before(made.parse().map_err(|_| GatewayError::KeyTaken)?))
            }
            begun => begun.map(Made::Now),
        }
    }

    /// What the runs did themselves that have asked for tools of whoever brings it. They have ended: it is
    /// read before anything is written, since nobody writes meanwhile, and one run at a time.
    async fn own_steps(&self, bring: &Bring) -> Result<Steps, GatewayError> {
        let (mut steps, mut left) = (Steps::new(), MOST_BYTES);
        if let Some(key) = bring.kept_as.clone()
            && self.db().read(move |tx| sessions::exists(tx, &key)).await?
        {
            // What is new there is behind the last answer.
            return Ok(steps);
        }
        let runs: BTreeSet<RunId> = bring.whole.messages.iter().filter_map(run_of).collect();
        // The newest of them are asked about.
        for run in runs.into_iter().rev().take(MOST_RUNS) {
            let sender = bring.whole.sender.clone();
            let found = self.db().read(move |tx| own_steps(tx, run, &sender)).await?;
            let more: usize = found.iter().map(weight).sum();
            if more <= left && !found.is_empty() {
                left -= more;
                steps.insert(run, found);
            }
        }
        Ok(steps)
    }
}

fn begin(
    tx: &mut Tx<'_>,
    bring: &Bring,
    steps: &Steps,
    worker: Option<i64>,
    now: Timestamp,
) -> Result<RunId, GatewayError> {
    let passing = new_id::<SessionId>().to_string();
    let key = bring.kept_as.as_deref().unwrap_or(&passing);
    let mut brought = bring.whole.clone();
    if sessions::exists(tx, key)? {
        brought.messages.clone_from(&bring.new);
    }
    brought.each_text(&mut |text| *text = strip_nul(text).into_owned());
    add_own_steps(&mut brought, steps);
    let text = bring.input.clone().unwrap_or_default();
    let (sender, trust) = (brought.sender.clone(), bring.trust);
    let new = NewInput {
        place: Place::Key { key, agent: &bring.agent, surface: SURFACE, reply_to: None },
        input: Input { text, sender, trust, connector: None },
        answers: None,
        parent: None,
        worker,
    };
    let begun = submit_with(tx, &new, Some(&brought), now)?;
    for image in images(&brought) {
        if let Ok(blob) = image.blob.parse::<BlobId>() {
            BlobStore::hold(tx, &blob, &holder(begun.run), now)?;
        }
    }
    if bring.kept_as.is_none() {
        sessions::archive(tx, begun.session, now)?;
    }
    Ok(begun.run)
}

/// Whoever brings a conversation knows of a run that has asked for tools of theirs only that it has. In
/// the place of that stands what the run did itself, as its tape tells it.
fn add_own_steps(brought: &mut Brought, steps: &Steps) {
    let mut added = BTreeSet::new();
    for message in std::mem::take(&mut brought.messages) {
        match run_of(&message).and_then(|run| Some((run, steps.get(&run)?))) {
            Some((run, steps)) if added.insert(run) => {
                brought.messages.extend_from_slice(steps);
            }
            // Some say each call in a message of its own.
            Some(_) => {}
            None => brought.messages.push(message),
        }
    }
}

/// How much of a conversation a message is, in bytes.
fn weight(message: &BroughtMessage) -> usize {
    match message {
        BroughtMessage::User { text, .. } | BroughtMessage::Program { text, .. } => text.len(),
        BroughtMessage::Assistant { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
        }
        BroughtMessage::Tool { content, .. } => content.len(),
    }
}

/// The run that has asked for a call of this message, by the name of the call.
fn run_of(message: &BroughtMessage) -> Option<RunId> {
    let run = |call: &Call| call.id.split_once('_')?.0.parse().ok();
    match message {
        BroughtMessage::Assistant { calls, .. } => calls.iter().find_map(run),
        BroughtMessage::User { .. }
        | BroughtMessage::Program { .. }
        | BroughtMessage::Tool { .. } => None,
    }
}

/// What a run of `sender` did until it asked for their tools; nothing if it is none.
fn own_steps(
    tx: &mut Tx<'_>,
    run: RunId,
    sender: &str,
) -> Result<Vec<BroughtMessage>, StorageError> {
    let is_over = |found: &runs::Run| found.ended == Some(RunEnd::HandedOver);
    if !runs::one(tx, run)?.is_some_and(|found| is_over(&found))
        || tape::bringer(tx, run)?.is_none_or(|by| by != sender)
    {
        return Ok(Vec::new());
    }
    let steps = tape::steps(tx, run, (MOST_EVENTS, MOST_WRITTEN))?.unwrap_or_default();
    let step = |event: TapeEvent| match event {
        TapeEvent::ModelCompleted(answer) => {
            let own = |call: Call| Call { id: call_name(run, &call.id), ..call };
            let calls = answer.calls.into_iter().map(own).collect();
            let (text, trust) = (answer.text, answer.trust);
            Some(BroughtMessage::Assistant { text, calls, trust })
        }
        TapeEvent::ToolCompleted(done) => {
            let (call, content) = (call_name(run, &done.call), done.content);
            Some(BroughtMessage::Tool { call, content, trust: done.trust })
        }
        _ => None,
    };
    Ok(steps.into_iter().filter_map(step).collect())
}

//! Runs of those who bring the conversation with them, and what is kept of it between them.

use std::collections::BTreeSet;

use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::{RunEnd, Trust};
use palyra_common::tape::{Brought, BroughtMessage, Call, Input, TapeEvent};
use palyra_common::text::strip_nul;
use palyra_common::time::Timestamp;
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::once::{Claim, Made, Once};
use palyra_storage::{Tx, new_id};

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
        let (now, worker) = (self.now(), self.free_hand());
        let begin = move |tx: &mut Tx<'_>| -> Result<RunId, GatewayError> {
            let run = begin(tx, &bring, worker, now)?;
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
}

fn begin(
    tx: &mut Tx<'_>,
    bring: &Bring,
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
    add_own_steps(tx, &mut brought)?;
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
fn add_own_steps(tx: &mut Tx<'_>, brought: &mut Brought) -> Result<(), GatewayError> {
    let (mut added, mut looked_at, mut bytes) = (BTreeSet::new(), 0, 0);
    for message in std::mem::take(&mut brought.messages) {
        let run = match &message {
            BroughtMessage::Assistant { calls, .. } => calls.iter().find_map(run_of),
            BroughtMessage::User { .. }
            | BroughtMessage::Program { .. }
            | BroughtMessage::Tool { .. } => None,
        };
        // Some say each call in a message of its own.
        if run.is_some_and(|run| added.contains(&run)) {
            continue;
        }
        let steps = match run {
            Some(run) if looked_at < MOST_RUNS => own_steps(tx, run, &brought.sender)?,
            Some(_) | None => Vec::new(),
        };
        looked_at += usize::from(run.is_some());
        let more: usize = steps.iter().map(weight).sum();
        if steps.is_empty() || bytes + more > MOST_BYTES {
            brought.messages.push(message);
            continue;
        }
        bytes += more;
        brought.messages.extend(steps);
        added.extend(run);
    }
    Ok(())
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

/// The run whose call this is, by its name.
fn run_of(call: &Call) -> Option<RunId> {
    call.id.split_once('_')?.0.parse().ok()
}

/// What a run of `sender` did until it asked for their tools; nothing if it is none.
fn own_steps(
    tx: &mut Tx<'_>,
    run: RunId,
    sender: &str,
) -> Result<Vec<BroughtMessage>, GatewayError> {
    let is_over = |found: &runs::Run| found.ended == Some(RunEnd::HandedOver);
    if !runs::one(tx, run)?.is_some_and(|found| is_over(&found)) {
        return Ok(Vec::new());
    }
    let (mut steps, mut is_theirs) = (Vec::new(), false);
    for entry in tape::spoken(tx, run, MOST_EVENTS)?.into_iter().rev() {
        match entry.event {
            TapeEvent::InputBrought(brought) => is_theirs = brought.sender == sender,
            TapeEvent::ModelCompleted(answer) => {
                let own = |call: Call| Call { id: call_name(run, &call.id), ..call };
                let calls = answer.calls.into_iter().map(own).collect();
                let (text, trust) = (answer.text, answer.trust);
                steps.push(BroughtMessage::Assistant { text, calls, trust });
            }
            TapeEvent::ToolCompleted(done) => {
                let (call, content) = (call_name(run, &done.call), done.content);
                steps.push(BroughtMessage::Tool { call, content, trust: done.trust });
            }
            _ => {}
        }
    }
    Ok(if is_theirs { steps } else { Vec::new() })
}

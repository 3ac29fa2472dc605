//! Waiting for a message to arrive.

use std::time::{Duration, Instant};

use palyra_client::{Client, ClientError};
use palyra_common::api::{Channel, ChannelDetail, MessageState, NewMessage, PartState};
use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::runtime_contracts::{ConnectorContact, ConnectorSaturation, OutboxState};

use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::patience::{self, patiently, patiently_for};

const PAUSE: Duration = Duration::from_millis(100);

/// Sends a message once, however often the daemon has to be told, and follows it.
pub(crate) async fn send(
    out: &Output,
    client: &Client,
    channel: &ConnectorId,
    mut new: NewMessage,
    wait: palyra_common::Duration,
) -> Result<MessageState, Failure> {
    if new.envelope.is_none() {
        new.envelope = Some(patience::name("send")?);
    }
    client.channel(channel).await?;
    let sent = patiently(out, async || client.send_message(channel, &new).await).await?;
    Ok(follow(out, client, channel, &sent.envelope, wait).await?)
}

/// Waits until nothing more happens to a message by itself, or for as long as `wait`.
pub(crate) async fn follow(
    out: &Output,
    client: &Client,
    channel: &ConnectorId,
    envelope: &EnvelopeId,
    wait: palyra_common::Duration,
) -> Result<MessageState, ClientError> {
    let until = Instant::now() + wait.into();
    let progress = out.progress("{spinner} waiting for the message to go out, {elapsed}");
    let state = loop {
        let patience = until.saturating_duration_since(Instant::now());
        let look = async || client.message_state(channel, envelope).await;
        let state = patiently_for(patience, out, look).await;
        match &state {
            Ok(found) if is_moving(found) && Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
            }
            Ok(_) | Err(_) => break state,
        }
    };
    progress.finish_and_clear();
    if state.as_ref().is_err_and(ClientError::is_absence) {
        let name = printable(envelope.as_str());
        out.note(&format!("{name} is in the queue, and goes out when the daemon runs again"));
    }
    state
}

/// Whether something more happens to a message by itself: to the first part that has not arrived, for
/// which the others wait. Without parts an agent still works on it.
fn is_moving(state: &MessageState) -> bool {
    let next = state.parts.iter().find(|part| part.state != OutboxState::Delivered);
    let moves = |part: &PartState| match part.state {
        OutboxState::Pending | OutboxState::Sending => true,
        // The platform is still to be asked.
        OutboxState::Unknown => part.due_at.is_some(),
        OutboxState::Held | OutboxState::Delivered | OutboxState::Dead | OutboxState::Cancelled => {
            false
        }
    };
    state.parts.is_empty() || next.is_some_and(moves)
}

/// Where a message is, for people.
pub(crate) fn text(out: &Output, state: &MessageState) -> String {
    let mut text = String::new();
    if state.parts.is_empty() {
        text.push_str(
            "the agent has not answered yet; `palyra approvals list` tells whether it asks \
             somebody\n",
        );
    }
    for part in &state.parts {
        let tone = match part.state {
            OutboxState::Delivered => Tone::Good,
            OutboxState::Pending | OutboxState::Sending | OutboxState::Held => Tone::Doubtful,
            OutboxState::Unknown | OutboxState::Dead | OutboxState::Cancelled => Tone::Bad,
        };
        let name = printable(state.envelope.as_str());
        let state = out.paint(tone, part.state.as_str());
        text.push_str(&format!("{name} part {} is {state}", part.part));
        if let Some(native) = &part.native {
            text.push_str(&format!(" as {}", printable(native)));
        }
        if let Some(error) = &part.last_error {
            let tries = count::of(part.attempts.into(), "try", "tries");
            text.push_str(&format!(" after {tries}: {}", printable(error)));
        }
        text.push('\n');
    }
    text
}

/// Whether all of it has arrived.
pub(crate) fn has_arrived(state: &MessageState) -> bool {
    let arrived = state.parts.iter().all(|part| part.state == OutboxState::Delivered);
    arrived && !state.parts.is_empty()
}

/// Success only if all of it has arrived; else somebody is told what keeps it.
pub(crate) async fn outcome(
    out: &Output,
    client: &Client,
    channel: &ConnectorId,
    state: &MessageState,
) -> Outcome {
    if has_arrived(state) {
        return Ok(());
    }
    let kept = state.parts.iter().find(|part| part.state != OutboxState::Delivered);
    if let Some(kept) = kept {
        out.note(&match kept.state {
            OutboxState::Unknown if kept.due_at.is_some() => looked_for(channel),
            OutboxState::Unknown => decided_by(channel, "unknown"),
            OutboxState::Dead => decided_by(channel, "dead-letters"),
            OutboxState::Held
            | OutboxState::Pending
            | OutboxState::Sending
            | OutboxState::Delivered
            | OutboxState::Cancelled => waits(client, channel, kept).await,
        });
    }
    Err(Failure::Faults)
}

/// Where somebody decides about a message that nothing more happens to by itself.
fn decided_by(channel: &ConnectorId, list: &str) -> String {
    let channel = printable(channel.as_str());
    format!("what becomes of it is yours to decide: `palyra channels {list} list {channel}`")
}

/// What is in doubt and is looked for on the platform first.
fn looked_for(channel: &ConnectorId) -> String {
    let channel = printable(channel.as_str());
    format!(
        "it is looked for on the platform, and then sent again or yours to decide: \
         `palyra channels show {channel}` tells more"
    )
}

/// What a message waits for.
async fn waits(client: &Client, id: &ConnectorId, part: &PartState) -> String {
    let name = printable(id.as_str());
    let Ok(ChannelDetail { channel, queue, .. }) = client.channel(id).await else {
        return format!("`palyra channels show {name}` tells how the channel is");
    };
    let next = match (channel.enabled, queue.paused_at) {
        (false, _) => format!("`palyra channels enable {name}` switches it on"),
        (true, Some(_)) => format!("`palyra channels resume {name}` lets it go out"),
        (true, None) => format!("`palyra channels show {name}` tells more"),
    };
    let reason = match (channel.enabled, channel.reasons.first()) {
        (false, _) => "is switched off".to_owned(),
        (true, Some(reason)) if sends_nothing(&channel) => {
            format!("does not send now: {}", printable(reason))
        }
        (true, _) => format!("is at work, and {}", own_wait(part)),
    };
    format!("it waits; {name} {reason}. {next}")
}

/// Whether the gravest of what there is to say of a channel keeps all of its messages.
fn sends_nothing(channel: &Channel) -> bool {
    let has_no_contact = channel.contact != ConnectorContact::Heard;
    has_no_contact
        || match channel.saturation {
            ConnectorSaturation::AuthFailed | ConnectorSaturation::Paused => true,
            ConnectorSaturation::Healthy
            | ConnectorSaturation::Retrying
            | ConnectorSaturation::Backpressure
            | ConnectorSaturation::RateLimited
            | ConnectorSaturation::DeadLettered => false,
        }
}

/// What a message waits for where its channel sends others.
fn own_wait(part: &PartState) -> &'static str {
    match (part.state, part.attempts) {
        (OutboxState::Sending, _) => "the platform has not answered yet",
        (_, 0) => "this waits for others of its conversation, or until the platform lets it go out",
        (_, _) => "this has failed and waits for another try",
    }
}

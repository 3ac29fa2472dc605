//! `palyra channels test`

use palyra_common::api::TestMessage;
use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::runtime_contracts::RouteReason;
use serde_json::json;

use super::follow::{follow, has_arrived, outcome};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::printable;
use crate::patience::{self, patiently};

/// Send a message through a channel as somebody else would, and wait for the answer
///
/// The message goes the whole way: router, answer, queue, platform. Exits with 7 when no answer
/// arrives.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra channels test echo:default \"hello\""
)]
pub(crate) struct Arguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// What to say
    #[arg(value_name = "TEXT")]
    text: String,
    /// In which conversation; without this, one for tests
    #[arg(long, value_name = "CONVERSATION")]
    conversation: Option<ConversationId>,
    /// How long to wait at most
    #[arg(long, value_name = "TIME", default_value = "30s")]
    wait: palyra_common::Duration,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { channel, text, conversation, wait } = arguments;
    let (out, client) = (context.out(), context.client()?);
    let message = Some(patience::name("test")?);
    let message = TestMessage { text, conversation, message };
    client.channel(&channel).await?;
    let test = patiently(out, async || client.test_channel(&channel, &message).await).await?;
    let Some(reply) = &test.reply else {
        let told = unanswered(&channel, test.reason);
        out.show(&json!({ "test": test, "reply": null }), |_, _| told)?;
        return Err(Failure::Faults);
    };
    let state = follow(out, &client, &channel, reply, wait).await?;
    let said = client.messages(&channel, &test.conversation, None, None, 50).await;
    let answers = said.map(|page| page.items).unwrap_or_default();
    // The newest is first, and a long answer has several parts.
    let natives: Vec<_> = state.parts.iter().filter_map(|part| part.native.clone()).collect();
    let is_answer = |native: &Option<String>| native.as_ref().is_some_and(|n| natives.contains(n));
    let mut texts: Vec<_> = answers
        .into_iter()
        .filter(|said| said.sender.is_none() && is_answer(&said.native))
        .filter_map(|said| said.text)
        .collect();
    texts.reverse();
    let document = json!({ "test": test, "reply": state, "texts": texts });
    out.show(&document, |out, _| match has_arrived(&state) && !texts.is_empty() {
        true => texts.join("\n").lines().map(|line| format!("{}\n", printable(line))).collect(),
        false => super::follow::text(out, &state),
    })?;
    outcome(out, &client, &channel, &state).await
}

/// Why there is no answer. Without a reason it could not be decided yet who gives one.
fn unanswered(channel: &ConnectorId, reason: Option<RouteReason>) -> String {
    let name = printable(channel.as_str());
    let Some(reason) = reason else {
        return format!(
            "The message is kept, and who answers it will be decided; `palyra channels show {name}` \
             tells how the channel does.\n"
        );
    };
    let next = match reason == RouteReason::ConnectorDisabled {
        true => format!("palyra channels enable {name}"),
        false => "palyra router rules list".to_owned(),
    };
    format!("Nobody answers: {}. See `{next}`.\n", reason.as_str())
}

#[cfg(test)]
mod tests;

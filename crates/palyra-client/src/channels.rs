//! Channels, messages and the router, call by call.

use palyra_common::api::{
    Changed, Channel, ChannelDetail, ChannelEvent, ChannelSettings, DeadLetter, Decided,
    MessageState, NewChannel, NewMessage, NewRule, OutboxEntry, Page, PauseReason, ReplayMany,
    ResolveUnknown, RouteDecision, RoutePreview, RouterRule, RuleChange, SaidMessage, TestMessage,
    TestResult,
};
use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, RuleId};
use palyra_common::time::Timestamp;
use reqwest::Method;

use crate::calls::LONG_WORK;
use crate::client::{ANSWER_TIMEOUT, Client};
use crate::error::ClientError;

/// Which messages wait for somebody to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Those that were given up.
    DeadLetters,
    /// Those of which nobody knows whether they arrived.
    Unknown,
}

/// What is to become of one that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadLetterDecision {
    /// It is sent after all.
    Replay,
    /// It is closed.
    Discard,
}

impl Client {
    /// All channels.
    pub async fn channels(&self) -> Result<Page<Channel>, ClientError> {
        self.json(self.admin(Method::GET, &["channels"])).await
    }

    /// One channel.
    pub async fn channel(&self, id: &ConnectorId) -> Result<ChannelDetail, ClientError> {
        self.json(self.admin(Method::GET, &["channels", id.as_str()])).await
    }

    /// Sets a channel up.
    pub async fn add_channel(&self, new: &NewChannel) -> Result<ChannelDetail, ClientError> {
        self.json(self.with_json(self.admin(Method::POST, &["channels"]), new)?).await
    }

    /// Gives a channel other settings.
    pub async fn configure_channel(
        &self,
        id: &ConnectorId,
        change: &ChannelSettings,
    ) -> Result<ChannelDetail, ClientError> {
        let request = self.admin(Method::PUT, &["channels", id.as_str()]);
        self.json(self.with_json(request, change)?).await
    }

    /// Switches a channel on or off.
    pub async fn switch_channel(
        &self,
        id: &ConnectorId,
        on: bool,
    ) -> Result<ChannelDetail, ClientError> {
        let word = if on { "enable" } else { "disable" };
        self.json(self.admin(Method::POST, &["channels", id.as_str(), word])).await
    }

    /// Keeps what is in the queue of a channel from going out.
    pub async fn pause_channel(
        &self,
        id: &ConnectorId,
        reason: &PauseReason,
    ) -> Result<ChannelDetail, ClientError> {
        let request = self.admin(Method::POST, &["channels", id.as_str(), "queue", "pause"]);
        self.json(self.with_json(request, reason)?).await
    }

    /// Lets it go out again.
    pub async fn resume_channel(&self, id: &ConnectorId) -> Result<ChannelDetail, ClientError> {
        self.json(self.admin(Method::POST, &["channels", id.as_str(), "queue", "resume"])).await
    }

    /// Tries now what waits for another try.
    pub async fn drain_channel(&self, id: &ConnectorId) -> Result<Changed, ClientError> {
        self.json(self.admin(Method::POST, &["channels", id.as_str(), "queue", "drain"])).await
    }

    /// A page of what happened to a channel; `after` is the `next` of the page before.
    pub async fn channel_events(
        &self,
        id: &ConnectorId,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<ChannelEvent>, ClientError> {
        let path = ["admin", "v1", "channels", id.as_str(), "events"];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// A page of messages that wait for somebody; `after` is the `next` of the page before.
    pub async fn waiting_messages(
        &self,
        id: &ConnectorId,
        which: Waiting,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<OutboxEntry>, ClientError> {
        let which = match which {
            Waiting::DeadLetters => "dead-letters",
            Waiting::Unknown => "unknown",
        };
        let path = ["admin", "v1", "channels", id.as_str(), which];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// A message that was given up.
    pub async fn dead_letter(
        &self,
        id: &ConnectorId,
        envelope: &EnvelopeId,
    ) -> Result<DeadLetter, ClientError> {
        let path = ["channels", id.as_str(), "dead-letters", envelope.as_str()];
        self.json(self.admin(Method::GET, &path)).await
    }

    /// Sends many messages after all.
    pub async fn replay_many(
        &self,
        id: &ConnectorId,
        many: &ReplayMany,
    ) -> Result<Changed, ClientError> {
        let path = ["channels", id.as_str(), "dead-letters", "replay"];
        let request = self.admin(Method::POST, &path).timeout(LONG_WORK);
        let response = self.accepted(self.with_json(request, many)?).await?;
        self.decode(response).await
    }

    /// Decides about a message that was given up.
    pub async fn decide_dead_letter(
        &self,
        id: &ConnectorId,
        envelope: &EnvelopeId,
        part: u32,
        decision: DeadLetterDecision,
    ) -> Result<Decided, ClientError> {
        let word = match decision {
            DeadLetterDecision::Replay => "replay",
            DeadLetterDecision::Discard => "discard",
        };
        let part = part.to_string();
        let path = ["channels", id.as_str(), "dead-letters", envelope.as_str(), &part, word];
        self.json(self.admin(Method::POST, &path)).await
    }

    /// Decides about a message of which nobody knows whether it arrived.
    pub async fn resolve_unknown(
        &self,
        id: &ConnectorId,
        envelope: &EnvelopeId,
        part: u32,
        resolve: &ResolveUnknown,
    ) -> Result<Decided, ClientError> {
        let part = part.to_string();
        let path = ["channels", id.as_str(), "unknown", envelope.as_str(), &part, "resolve"];
        self.json(self.with_json(self.admin(Method::POST, &path), resolve)?).await
    }

    /// Puts a message into the queue of a channel.
    pub async fn send_message(
        &self,
        id: &ConnectorId,
        new: &NewMessage,
    ) -> Result<MessageState, ClientError> {
        let request = self.admin(Method::POST, &["channels", id.as_str(), "messages"]);
        self.json(self.with_json(request, new)?).await
    }

    /// Where a message to be sent is.
    pub async fn message_state(
        &self,
        id: &ConnectorId,
        envelope: &EnvelopeId,
    ) -> Result<MessageState, ClientError> {
        let path = ["channels", id.as_str(), "outbox", envelope.as_str()];
        self.json(self.admin(Method::GET, &path)).await
    }

    /// What was said in a conversation, newest first; `until` is the `next` of the page before.
    pub async fn messages(
        &self,
        id: &ConnectorId,
        conversation: &ConversationId,
        containing: Option<&str>,
        until: Option<Timestamp>,
        limit: u32,
    ) -> Result<Page<SaidMessage>, ClientError> {
        let path = ["admin", "v1", "channels", id.as_str(), "messages"];
        let mut query = page(None, limit);
        query.push(("conversation", conversation.to_string()));
        query.extend(containing.map(|text| ("containing", text.to_owned())));
        query.extend(until.map(|until| ("until", until.as_unix_millis().to_string())));
        self.json(self.request_with(Method::GET, &path, &query)).await
    }

    /// Hands a message in as if somebody had sent it.
    pub async fn test_channel(
        &self,
        id: &ConnectorId,
        test: &TestMessage,
    ) -> Result<TestResult, ClientError> {
        let request = self.admin(Method::POST, &["channels", id.as_str(), "test"]);
        self.json(self.with_json(request, test)?).await
    }

    /// A page of rules; `after` is the `next` of the page before.
    pub async fn rules(
        &self,
        channel: Option<&ConnectorId>,
        after: Option<String>,
    ) -> Result<Page<RouterRule>, ClientError> {
        let channel = channel.map(|channel| ("channel", channel.to_string()));
        let after = after.map(|after| ("after", after));
        let query: Vec<_> = channel.into_iter().chain(after).collect();
        let path = ["admin", "v1", "router", "rules"];
        self.json(self.request_with(Method::GET, &path, &query)).await
    }

    /// Makes a rule.
    pub async fn add_rule(&self, new: &NewRule) -> Result<RouterRule, ClientError> {
        self.json(self.with_json(self.admin(Method::POST, &["router", "rules"]), new)?).await
    }

    /// One rule.
    pub async fn rule(&self, id: RuleId) -> Result<RouterRule, ClientError> {
        self.json(self.admin(Method::GET, &["router", "rules", &id.to_string()])).await
    }

    /// Replaces what a rule says.
    pub async fn change_rule(
        &self,
        id: RuleId,
        change: &RuleChange,
    ) -> Result<RouterRule, ClientError> {
        let request = self.admin(Method::PUT, &["router", "rules", &id.to_string()]);
        self.json(self.with_json(request, change)?).await
    }

    /// Removes a rule.
    pub async fn remove_rule(&self, id: RuleId) -> Result<(), ClientError> {
        let request = self.admin(Method::DELETE, &["router", "rules", &id.to_string()]);
        self.accepted(request.timeout(ANSWER_TIMEOUT)).await.map(drop)
    }

    /// What would become of a message.
    pub async fn preview(&self, preview: &RoutePreview) -> Result<RouteDecision, ClientError> {
        let request = self.admin(Method::POST, &["router", "preview"]);
        self.json(self.with_json(request, preview)?).await
    }
}

pub(crate) fn page(after: Option<String>, limit: u32) -> Vec<(&'static str, String)> {
    let after = after.map(|after| ("after", after));
    std::iter::once(("limit", limit.to_string())).chain(after).collect()
}

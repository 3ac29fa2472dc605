//! The rules that messages are routed by. Changed here, they are in force for the next message.

use std::collections::BTreeSet;
use std::sync::Arc;

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::ids::{AgentId, ConnectorId, MAX_NAME_CHARS, RuleId};
use palyra_common::route::{MAX_LISTED, MAX_TEXT_BYTES, Rule};
use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::{Trail, connector};
use palyra_policy::route::canonical_id;
use palyra_storage::{Database, StorageError, Tx, describe, new_id};

use crate::feed::{self, RuleEvent};
use crate::store::router_rules::{self, StoredRule};

/// A rule that could not be made, changed or found.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RuleError {
    /// There is no such connector.
    #[error("there is no connector {0}")]
    NoConnector(ConnectorId),
    /// There is no such rule.
    #[error("there is no router rule {0}")]
    NoRule(RuleId),
    /// There is one for that place.
    #[error("{connector} has a rule for {place}: change that one")]
    Taken {
        /// The connector.
        connector: ConnectorId,
        /// The place, in words.
        place: String,
    },
    /// Somebody else has changed it.
    #[error("the rule was changed meanwhile: it is at version {is}, not {expected}")]
    Changed {
        /// Its version.
        is: i64,
        /// The version that was expected.
        expected: i64,
    },
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The database.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl RuleError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoConnector(_) | Self::NoRule(_) => ErrorCode::CommonNotFound,
            Self::Taken { .. } | Self::Changed { .. } => ErrorCode::CommonConflict,
            Self::Invalid(_) => ErrorCode::CommonInvalidInput,
            Self::Storage(error) => error.code(),
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        match self {
            Self::Storage(error) => error.envelope(),
            _ => StableErrorEnvelope::new(self.code(), describe(self)),
        }
    }
}

/// The rules of all connectors. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl Rules {
    /// The rules in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }

    /// Makes a rule. There is one for each conversation of a connector, and one for all others.
    pub async fn add(
        &self,
        connector_id: &ConnectorId,
        rule: Rule,
        trail: Trail,
    ) -> Result<StoredRule, RuleError> {
        let (now, connector_id) = (self.clock.now(), connector_id.clone());
        let add = move |tx: &mut Tx<'_>| -> Result<StoredRule, RuleError> {
            let stored = add_rule(tx, &connector_id, &rule, now)?;
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            Ok(stored)
        };
        self.db.try_write(add).await
    }

    /// Replaces what a rule says; with `expected`, only if it is at that version. The conversation
    /// that it is for stays the same.
    pub async fn change(
        &self,
        id: RuleId,
        rule: Rule,
        expected: Option<i64>,
        trail: Trail,
    ) -> Result<StoredRule, RuleError> {
        let now = self.clock.now();
        let change = move |tx: &mut Tx<'_>| -> Result<StoredRule, RuleError> {
            let was = router_rules::lock(tx, id)?.ok_or(RuleError::NoRule(id))?;
            if let Some(expected) = expected.filter(|expected| *expected != was.version) {
                return Err(RuleError::Changed { is: was.version, expected });
            }
            let found = connector(tx, &was.connector)?;
            let found = found.ok_or_else(|| RuleError::NoConnector(was.connector.clone()))?;
            let rule = canonical(&found.kind, &rule)?;
            if rule.conversation != was.rule.conversation {
                let what = "a rule stays with its conversation: make another one instead";
                return Err(RuleError::Invalid(what.to_owned()));
            }
            if rule == was.rule {
                return Ok(was);
            }
            router_rules::change(tx, id, &rule, now)?;
            feed::rule(tx, &was.connector, (id, RuleEvent::Changed), now);
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            Ok(StoredRule { rule, version: was.version + 1, changed_at: now, ..was })
        };
        self.db.try_write(change).await
    }

    /// Removes a rule.
    pub async fn remove(&self, id: RuleId, trail: Trail) -> Result<(), RuleError> {
        let now = self.clock.now();
        let remove = move |tx: &mut Tx<'_>| -> Result<(), RuleError> {
            let connector = router_rules::remove(tx, id)?.ok_or(RuleError::NoRule(id))?;
            feed::rule(tx, &connector, (id, RuleEvent::Removed), now);
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            Ok(())
        };
        self.db.try_write(remove).await
    }

    /// One rule.
    pub async fn get(&self, id: RuleId) -> Result<StoredRule, RuleError> {
        let found = self.db.read(move |tx| router_rules::one(tx, id)).await?;
        found.ok_or(RuleError::NoRule(id))
    }

    /// Rules by the time they were made, behind `after`, of one connector or of all.
    pub async fn list(
        &self,
        connector: Option<&ConnectorId>,
        after: Option<RuleId>,
        limit: u32,
    ) -> Result<Vec<StoredRule>, StorageError> {
        let connector = connector.cloned();
        self.db.read(move |tx| router_rules::list(tx, connector.as_ref(), after, limit)).await
    }
}

/// Makes a rule, as part of a transaction.
pub fn add_rule(
    tx: &mut Tx<'_>,
    connector_id: &ConnectorId,
    rule: &Rule,
    now: Timestamp,
) -> Result<StoredRule, RuleError> {
    let found = connector(tx, connector_id)?;
    let found = found.ok_or_else(|| RuleError::NoConnector(connector_id.clone()))?;
    let stored = StoredRule {
        id: new_id(),
        connector: connector_id.clone(),
        rule: canonical(&found.kind, rule)?,
        version: 1,
        created_at: now,
        changed_at: now,
    };
    if router_rules::add(tx, &stored)? {
        feed::rule(tx, connector_id, (stored.id, RuleEvent::Added), now);
        return Ok(stored);
    }
    let place = match &stored.rule.conversation {
        Some(conversation) => format!("the conversation {conversation}"),
        None => "all conversations without one of their own".to_owned(),
    };
    Err(RuleError::Taken { connector: connector_id.clone(), place })
}

/// The rule with its ids as the platform writes them.
pub(crate) fn canonical(platform: &str, rule: &Rule) -> Result<Rule, RuleError> {
    let listed = |noun: &str, ids: &BTreeSet<String>| {
        if ids.len() > MAX_LISTED {
            return Err(RuleError::Invalid(format!("a list has at most {MAX_LISTED} entries")));
        }
        ids.iter().map(|id| named(noun, canonical_id(platform, noun, id))).collect()
    };
    if rule.max_text_bytes == 0 || rule.max_text_bytes > MAX_TEXT_BYTES {
        return Err(RuleError::Invalid(format!("max_text_bytes is from 1 to {MAX_TEXT_BYTES}")));
    }
    // Whoever is none cannot be handed a message, which would wait for ever.
    let agent = rule.agent.parse::<AgentId>();
    let agent = agent.map_err(|error| RuleError::Invalid(format!("agent: {error}")))?;
    let conversation = rule.conversation.as_deref();
    let conversation =
        conversation.map(|id| named("channel", canonical_id(platform, "channel", id)));
    Ok(Rule {
        conversation: conversation.transpose()?,
        agent: agent.to_string(),
        channels: listed("channel", &rule.channels)?,
        allow_from: listed("user", &rule.allow_from)?,
        deny_from: listed("user", &rule.deny_from)?,
        ..rule.clone()
    })
}

fn named(noun: &str, id: &str) -> Result<String, RuleError> {
    let fits = !id.is_empty()
        && id.len() <= MAX_NAME_CHARS
        && id.chars().all(|c| !c.is_control() && !c.is_whitespace());
    let what = format!("{id:?} is not the id of a {noun}: 1 to {MAX_NAME_CHARS} bytes, no blanks");
    if fits { Ok(id.to_owned()) } else { Err(RuleError::Invalid(what)) }
}

//! The channels of this daemon: connectors, their queues, and who answers.

mod look;

use std::path::Path;
use std::sync::Arc;

use palyra_common::ids::{ConnectorId, ConversationId};
use palyra_common::queue::QueueSettings;
use palyra_common::route::{Mention, Rule};
use palyra_common::runtime_contracts::{BroadcastStrategy, DirectMessagePolicy, InboundScope};
use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::{
    AdapterRegistry, ChannelError, ConnectorSupervisor, Connectors, Inbound, Outbox, Outgoing,
    Pulse, Remembered, Statuses, SupervisorOptions, SystemDice, Wanted, remember, set_up,
};
use palyra_connectors::{BuiltIn, KINDS, echo};
use palyra_gateway::{ChannelRouter, OntoTapes, Preview, Responder, RuleError, Rules, add_rule};
use palyra_storage::lease::Leases;
use palyra_storage::{Database, StorageError, Tx};
use palyra_vault::{Redaction, Redactor};
use serde_json::Value;

pub(crate) use look::Look;

/// The channel that is always there: it speaks to nobody but this machine.
const FIRST: &str = "echo:default";
/// Where built-in connectors keep files.
const FOLDER: &str = "connectors";

/// What handlers ask about channels.
pub(crate) struct ChannelPlatform {
    pub(crate) connectors: Connectors,
    pub(crate) outbox: Outbox,
    pub(crate) inbound: Inbound,
    pub(crate) rules: Rules,
    pub(crate) preview: Preview,
    /// Cleans what goes out.
    pub(crate) outgoing: Arc<dyn Outgoing>,
    /// Whether connectors are looked after at all.
    pub(crate) pulse: Pulse,
    statuses: Statuses,
    adapters: Arc<dyn AdapterRegistry>,
    db: Database,
}

impl ChannelPlatform {
    /// The channels in `db`, and the supervisor that is to run them.
    pub(crate) async fn open(
        db: Database,
        leases: Leases,
        clock: Arc<dyn Clock>,
        data_dir: &Path,
        outgoing: Arc<dyn Outgoing>,
        responder: Arc<dyn Responder>,
    ) -> Result<(Self, ConnectorSupervisor), StorageError> {
        set_up_first(&db, clock.now()).await?;
        let adapters = Arc::new(BuiltIn::new(clock.clone(), data_dir.join(FOLDER)));
        let dice = Arc::new(SystemDice);
        let supervisor = ConnectorSupervisor::new(SupervisorOptions {
            db: db.clone(),
            leases,
            clock: clock.clone(),
            dice: dice.clone(),
            adapters: adapters.clone(),
            sink: Arc::new(ChannelRouter::new(responder)),
            outgoing: outgoing.clone(),
            deliveries: Arc::new(OntoTapes),
            takeover_grace: None,
        });
        let platform = Self {
            connectors: Connectors::new(db.clone(), clock.clone()),
            outbox: Outbox::new(db.clone(), clock.clone(), dice, Arc::new(OntoTapes)),
            inbound: supervisor.inbound(),
            rules: Rules::new(db.clone(), clock),
            preview: Preview::new(db.clone()),
            outgoing,
            pulse: supervisor.pulse(),
            statuses: supervisor.statuses(),
            adapters,
            db,
        };
        Ok((platform, supervisor))
    }

    /// What is remembered of a conversation.
    pub(crate) async fn remember(
        &self,
        connector: &ConnectorId,
        conversation: &ConversationId,
        wanted: Wanted,
    ) -> Result<Remembered, StorageError> {
        remember(&self.db, connector, conversation, wanted).await
    }

    /// Which kind a new channel of this name is of.
    pub(crate) fn kind_of(id: &ConnectorId) -> Result<&'static str, ChannelError> {
        let named = id.as_str().split_once(':').filter(|(_, rest)| !rest.is_empty());
        let kind = named.and_then(|(kind, _)| KINDS.into_iter().find(|known| *known == kind));
        kind.ok_or_else(|| {
            let kinds = KINDS.join(", ");
            ChannelError::Invalid(format!("{id} does not begin with a kind of channel: {kinds}"))
        })
    }

    /// Refuses what is to be set if a channel could not work with it.
    pub(crate) fn check(
        &self,
        kind: &str,
        settings: Option<&Value>,
        queue: Option<&QueueSettings>,
    ) -> Result<(), ChannelError> {
        let settings = settings.map_or(Ok(()), |settings| self.adapters.check(kind, settings));
        let checked = settings.and_then(|()| queue.map_or(Ok(()), QueueSettings::check));
        checked.map_err(ChannelError::Invalid)
    }
}

/// What the vault knows to be secret, and what looks like it, does not go out.
pub(crate) struct WithoutSecrets(pub(crate) Redactor);

impl Outgoing for WithoutSecrets {
    fn clean(&self, text: &str) -> String {
        self.0.redact(text).into_owned()
    }

    fn open_end(&self, text: &str) -> usize {
        self.0.snapshot().open_end(text)
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(WithoutKnown(self.0.snapshot()))
    }
}

/// The same, by what was known at one moment.
#[derive(Clone)]
struct WithoutKnown(Redaction);

impl Outgoing for WithoutKnown {
    fn clean(&self, text: &str) -> String {
        self.0.redact(text).into_owned()
    }

    fn open_end(&self, text: &str) -> usize {
        self.0.open_end(text)
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(self.clone())
    }
}

/// On a new database: a channel to try things with, and a rule by which it answers everybody, who
/// can only be somebody who may use the daemon.
async fn set_up_first(db: &Database, now: Timestamp) -> Result<(), StorageError> {
    let first = FIRST.parse::<ConnectorId>();
    let first = first.map_err(|error| StorageError::internal(error.to_string()))?;
    let set_up = move |tx: &mut Tx<'_>| -> Result<(), RuleError> {
        let nothing = Value::Object(serde_json::Map::new());
        let queue = QueueSettings::default();
        if set_up(tx, &first, echo::KIND, &nothing, queue, now)? {
            let rule = Rule {
                scope: InboundScope::OpenGuildChannels,
                direct_messages: DirectMessagePolicy::Allow,
                mention: Mention::NotNeeded,
                broadcast: BroadcastStrategy::Allow,
                ..Rule::default()
            };
            add_rule(tx, &first, &rule, now)?;
        }
        Ok(())
    };
    db.try_write(set_up).await.map_err(|error| match error {
        RuleError::Storage(error) => error,
        other => StorageError::internal(other.to_string()),
    })
}

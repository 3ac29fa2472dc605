//! Somebody who gives commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use palyra_common::api::{AcpCommandEnvelope, AcpCommandResultEnvelope};
use palyra_common::ids::{Credential, Principal};
use palyra_common::runtime_contracts::Role;
use palyra_gateway::acp::{Commands, built_in};
use palyra_gateway::{Agents, Approvals, Sessions};
use palyra_identity::{Access, role_scopes};
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Database, JournalStore, SystemClock};
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Clone)]
pub(super) struct Desk {
    pub(super) commands: Commands,
    pub(super) sessions: Sessions,
    pub(super) access: Access,
    pub(super) db: Database,
    pub(super) keys: Arc<AtomicU32>,
}

pub(super) fn access(who: &str, role: Role) -> Access {
    Access {
        principal: who.parse::<Principal>().unwrap(),
        role,
        scopes: role_scopes(role),
        credential: Credential::LocalOwner,
        expires_at: None,
    }
}

pub(super) fn envelope(command: &str, params: Value, key: Option<&str>) -> AcpCommandEnvelope {
    AcpCommandEnvelope {
        v: 1,
        request_id: "r-1".to_owned(),
        command: command.to_owned(),
        params: params.as_object().unwrap().clone(),
        idempotency_key: key.map(str::to_owned),
        expected_version: None,
    }
}

impl Desk {
    pub(super) async fn new(db: &Database) -> Self {
        let clock = Arc::new(SystemClock);
        Agents::new(db.clone(), clock.clone()).set_up_first().await.unwrap();
        let sessions = Sessions::new(db.clone(), clock.clone());
        let approvals = Approvals::new(db.clone(), clock.clone());
        let commands = built_in(&sessions, &approvals);
        Self {
            commands: Commands::new(db.clone(), clock, commands).unwrap(),
            sessions,
            access: access("operator:ann", Role::Operator),
            db: db.clone(),
            keys: Arc::default(),
        }
    }

    pub(super) async fn send(&self, envelope: AcpCommandEnvelope) -> AcpCommandResultEnvelope {
        let (id, command) = (envelope.request_id.clone(), envelope.command.clone());
        let told = self.commands.dispatch_acp_command(&self.access, "desk", envelope).await;
        assert_eq!((&told.request_id, &told.command), (&id, &command));
        assert_eq!((told.result.is_some(), told.error.is_some()), (told.ok, !told.ok), "{told:?}");
        told
    }

    /// With a key of its own.
    pub(super) async fn give(&self, command: &str, params: Value) -> AcpCommandResultEnvelope {
        let key = format!("key-{}", self.keys.fetch_add(1, Ordering::SeqCst));
        self.send(envelope(command, params, Some(&key))).await
    }

    pub(super) async fn result(&self, command: &str, params: Value) -> Value {
        let told = self.give(command, params).await;
        told.result.unwrap_or_else(|| panic!("{command}: {:?}", told.error))
    }

    pub(super) async fn done<T: DeserializeOwned>(&self, command: &str, params: Value) -> T {
        serde_json::from_value(self.result(command, params).await).unwrap()
    }

    /// The code of a refusal.
    pub(super) async fn code(&self, command: &str, params: Value) -> String {
        self.give(command, params).await.error.unwrap().code().to_owned()
    }

    /// What the audit trail says, in order.
    pub(super) async fn trail(&self) -> Vec<JournalEvent> {
        let journal = JournalStore::new(self.db.clone());
        let found = journal.page_after(0, 100).await.unwrap();
        found.into_iter().map(|entry| entry.event).collect()
    }
}

//! Asking platforms for what only they can tell or show.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use palyra_common::ids::{ConnectorId, ConversationId};

use super::here::Here;
use crate::adapter::{Capabilities, ConnectorAdapter, OnPlatform, Reading, Waiting};
use crate::{ChannelError, Outgoing, Reason};

/// How long a platform may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than anybody reads at once.
const MAX_READ: u32 = 200;

/// The platforms of the connectors that run on this node. Cheap to clone.
#[derive(Clone)]
pub struct Platforms {
    here: Here,
    outgoing: Arc<dyn Outgoing>,
}

impl Platforms {
    pub(super) fn new(here: Here, outgoing: Arc<dyn Outgoing>) -> Self {
        Self { here, outgoing }
    }

    /// What the platform of a connector can do.
    pub fn capabilities(&self, connector: &ConnectorId) -> Result<Capabilities, ChannelError> {
        self.find(connector).map(|adapter| adapter.capabilities())
    }

    /// What was said in a conversation, as the platform has it now, the newest first; 200 messages at
    /// most.
    pub async fn read(
        &self,
        connector: &ConnectorId,
        wanted: Reading,
    ) -> Result<Vec<OnPlatform>, ChannelError> {
        let adapter = self.find(connector)?;
        let can = adapter.capabilities();
        capable(connector, can.history, "tell what was said")?;
        capable(connector, can.search || wanted.containing.is_none(), "search what was said")?;
        let limit = wanted.limit.clamp(1, MAX_READ);
        let wanted = Reading { limit, ..wanted };
        let mut read = self.ask(connector, || adapter.read(&wanted)).await?;
        read.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(read)
    }

    /// Shows in a conversation that somebody is about to say something.
    pub async fn typing(
        &self,
        connector: &ConnectorId,
        conversation: &ConversationId,
    ) -> Result<(), ChannelError> {
        let adapter = self.find(connector)?;
        capable(connector, adapter.capabilities().typing, "show that somebody is typing")?;
        self.ask(connector, || adapter.typing(conversation)).await
    }

    /// Waits for an answer, for so long, and from an adapter that fails for none.
    async fn ask<'a, T>(
        &self,
        connector: &ConnectorId,
        asked: impl FnOnce() -> Waiting<'a, Result<T, Reason>>,
    ) -> Result<T, ChannelError> {
        let answer = AssertUnwindSafe(async { asked().await }).catch_unwind();
        let answer = match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => answer.map_err(|reason| reason.cleaned(&*self.outgoing)),
            Ok(Err(_panic)) => Err("the connector failed".into()),
            Err(_elapsed) => Err("the platform did not answer in time".into()),
        };
        let connector = connector.clone();
        answer.map_err(|reason| ChannelError::Platform { connector, reason: reason.into() })
    }

    fn find(&self, connector: &ConnectorId) -> Result<Arc<dyn ConnectorAdapter>, ChannelError> {
        let found = self.here.find(connector).map(|(adapter, _)| adapter);
        found.ok_or_else(|| ChannelError::NotHere(connector.clone()))
    }
}

fn capable(connector: &ConnectorId, can: bool, what: &'static str) -> Result<(), ChannelError> {
    match can {
        true => Ok(()),
        false => Err(ChannelError::NotCapable { connector: connector.clone(), what }),
    }
}

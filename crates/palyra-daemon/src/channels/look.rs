//! How a channel does, for whoever shows it and for the doctor.

use palyra_common::runtime_contracts::{ConnectorContact, ConnectorReadiness};
use palyra_connector_core::{Connector, ConnectorStatus, QueueView};
use palyra_policy::connector::{Unconnected, reasons};
use palyra_storage::StorageError;

use super::ChannelPlatform;

/// How a channel does.
pub(crate) struct Look {
    pub(crate) queue: QueueView,
    /// Nothing: it has never run.
    pub(crate) status: Option<ConnectorStatus>,
    /// Where it is to run and could: what there is to say if it is not connected.
    unconnected: Option<Unconnected>,
}

impl ChannelPlatform {
    /// How a channel, its queue and its connection do.
    pub(crate) async fn look(&self, connector: &Connector) -> Result<Look, StorageError> {
        let queue = self.outbox.view(connector).await?;
        let status = self.statuses.of(&connector.id).await?;
        let could_run = connector.enabled && connector.readiness == ConnectorReadiness::Ready;
        let unconnected = match contact(status.as_ref()) {
            ConnectorContact::None if could_run => {
                Some(self.statuses.unconnected(&connector.id).await?)
            }
            ConnectorContact::None | ConnectorContact::Heard | ConnectorContact::Silent => None,
        };
        Ok(Look { queue, status, unconnected })
    }
}

impl Look {
    pub(crate) fn contact(&self) -> ConnectorContact {
        contact(self.status.as_ref())
    }

    /// What keeps messages from going out as they should, the gravest first.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let starting = self.unconnected == Some(Unconnected::Starting);
        let starting = starting.then(|| "it is being started".to_owned());
        starting.into_iter().chain(self.troubles()).collect()
    }

    /// The same without what comes right by itself in a moment.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let silent = self.status.as_ref().and_then(ConnectorStatus::silent_since);
        let silent = silent.map(|since| format!("the platform has not answered since {since}"));
        let connection = silent.or_else(|| self.no_connection());
        connection.into_iter().chain(reasons(&self.queue.facts)).collect()
    }

    fn no_connection(&self) -> Option<String> {
        let error = self.status.as_ref().and_then(|status| status.last_error.as_deref());
        match (self.unconnected?, error) {
            (Unconnected::Starting, _) => None,
            (Unconnected::Failing, Some(error)) => {
                Some(format!("it has no connection: {error}; it is tried again"))
            }
            (Unconnected::Failing, None) | (Unconnected::Lost, _) => {
                Some("it has no connection; it is tried again".to_owned())
            }
        }
    }
}

fn contact(status: Option<&ConnectorStatus>) -> ConnectorContact {
    status.map_or(ConnectorContact::None, ConnectorStatus::contact)
}

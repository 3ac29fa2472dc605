//! The adapters that run on this node.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use palyra_common::ids::ConnectorId;

use crate::adapter::ConnectorAdapter;
use crate::connection::Connection;

type Running = (Arc<dyn ConnectorAdapter>, Arc<Connection>);

/// The adapters that run here, by connector. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Here(Arc<RwLock<HashMap<ConnectorId, Running>>>);

impl Here {
    pub(super) fn find(&self, connector: &ConnectorId) -> Option<Running> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(connector).cloned()
    }

    /// It runs for as long as what is returned is kept.
    pub(super) fn runs(
        &self,
        connector: &ConnectorId,
        adapter: Arc<dyn ConnectorAdapter>,
        connection: Arc<Connection>,
    ) -> Runs {
        let mut here = self.0.write().unwrap_or_else(PoisonError::into_inner);
        here.insert(connector.clone(), (adapter, connection));
        Runs(self.clone(), connector.clone())
    }
}

/// Says that a connector runs here for as long as it does.
pub(super) struct Runs(Here, ConnectorId);

impl Drop for Runs {
    fn drop(&mut self) {
        let Self(Here(here), connector) = self;
        here.write().unwrap_or_else(PoisonError::into_inner).remove(connector);
    }
}

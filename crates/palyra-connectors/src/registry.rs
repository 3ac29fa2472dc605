//! Which adapter a connector has.

use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_connector_core::{AdapterRegistry, Connector, ConnectorAdapter};

use crate::echo;

/// Makes the adapters of built-in connectors.
pub struct BuiltIn {
    clock: Arc<dyn Clock>,
}

impl BuiltIn {
    /// Adapters that go by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

/// The kinds that there are.
pub const KINDS: [&str; 1] = [echo::KIND];

impl AdapterRegistry for BuiltIn {
    fn build(&self, connector: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String> {
        match &*connector.kind {
            echo::KIND => echo::build(connector, self.clock.clone()),
            other => {
                Err(format!("there is no connector of kind {other}, only {}", KINDS.join(", ")))
            }
        }
    }
}

//! Which adapter a connector has.

use std::path::PathBuf;
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_connector_core::{AdapterRegistry, Connector, ConnectorAdapter};
use serde_json::Value;

use crate::echo;

/// Makes the adapters of built-in connectors.
pub struct BuiltIn {
    clock: Arc<dyn Clock>,
    folder: PathBuf,
}

impl BuiltIn {
    /// Adapters that go by `clock` and keep files in `folder`, which is made when it is needed.
    pub fn new(clock: Arc<dyn Clock>, folder: PathBuf) -> Self {
        Self { clock, folder }
    }
}

/// The kinds that there are.
pub const KINDS: [&str; 1] = [echo::KIND];

impl AdapterRegistry for BuiltIn {
    fn check(&self, kind: &str, settings: &Value) -> Result<(), String> {
        match kind {
            echo::KIND => echo::settings(settings).map(drop),
            other => Err(no_such_kind(other)),
        }
    }

    fn build(&self, connector: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String> {
        match &*connector.kind {
            echo::KIND => echo::build(connector, self.clock.clone(), &self.folder),
            other => Err(no_such_kind(other)),
        }
    }
}

fn no_such_kind(kind: &str) -> String {
    format!("there is no connector of kind {kind}, only {}", KINDS.join(", "))
}

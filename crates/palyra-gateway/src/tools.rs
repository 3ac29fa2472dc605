//! The built-in tools, one file each.

mod artifact;
mod ask;
#[cfg(test)]
mod bench;
mod channel;
mod delegate;
mod fetch;
mod fs;
mod page;
mod show;
#[cfg(test)]
mod tests;
mod time;
mod ui;
mod workspace;

use std::path::PathBuf;
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_connector_core::Outgoing;
use palyra_storage::Database;
use palyra_storage::blob::BlobStore;

use crate::tool::Tool;

pub(crate) use artifact::holder;
pub use fetch::{FetchMethod, Fetched, Fetcher};
pub(crate) use ui::{Replaces, shown};

/// The tool that gives work to another agent.
pub(crate) const DELEGATE: &str = "agent.delegate";
/// The tool that shows user interface.
pub(crate) const SHOW: &str = "ui.show";

/// What the built-in tools work with.
#[derive(Clone)]
pub struct ToolOptions {
    /// The database.
    pub db: Database,
    /// Where long results are.
    pub blobs: BlobStore,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Takes secrets out of what is sent.
    pub outgoing: Arc<dyn Outgoing>,
    /// Speaks HTTP.
    pub fetcher: Arc<dyn Fetcher>,
    /// The folder of the agents' workspaces, `workspaces` in the data directory. It is made when an
    /// agent first writes.
    pub workspaces: PathBuf,
}

/// All of them.
pub fn built_in(options: &ToolOptions) -> Vec<Arc<dyn Tool>> {
    let ToolOptions { db, blobs, clock, outgoing, fetcher, workspaces } = options.clone();
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(artifact::Read { db: db.clone(), blobs }),
        Arc::new(channel::Read(db.clone())),
        Arc::new(channel::Send { db: db.clone(), outgoing: outgoing.clone() }),
        Arc::new(delegate::Delegate(db.clone())),
        Arc::new(fetch::Fetch(fetcher)),
        Arc::new(time::Now::new(clock)),
        Arc::new(ui::Show { db, outgoing: outgoing.clone() }),
    ];
    tools.extend(fs::all(&workspace::Workspaces::new(workspaces), &outgoing));
    tools
}

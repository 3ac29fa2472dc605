//! `fs.*`: files of the agent's workspace.

mod change;
mod diff;
mod list;
mod patch;
mod read;
mod search;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use palyra_connector_core::Outgoing;

use super::workspace::Workspaces;
use crate::tool::Tool;

pub(super) fn all(workspaces: &Workspaces, outgoing: &Arc<dyn Outgoing>) -> [Arc<dyn Tool>; 5] {
    let (workspaces, outgoing) = (workspaces.clone(), outgoing.clone());
    [
        Arc::new(list::List(workspaces.clone())),
        Arc::new(read::Read(workspaces.clone())),
        Arc::new(search::Search(workspaces.clone())),
        Arc::new(write::Write { workspaces: workspaces.clone(), outgoing: outgoing.clone() }),
        Arc::new(patch::Patch { workspaces, outgoing }),
    ]
}

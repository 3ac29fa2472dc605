//! `fs.write`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use palyra_connector_core::Outgoing;
use serde::Deserialize;
use serde_json::json;

use super::change::{Base, Change};
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::{arguments, blocking};
use crate::tools::workspace::{WorkPath, Workspaces};

pub(super) struct Write {
    pub(super) workspaces: Workspaces,
    pub(super) outgoing: Arc<dyn Outgoing>,
}

#[derive(Deserialize)]
struct Wanted {
    path: String,
    content: String,
}

impl Tool for Write {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "fs.write",
            description: "Writes a whole text file of your workspace, new or in place of the one \
                          that is there. Folders above it are made. To change a part of a file, \
                          use fs.patch.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string", "minLength": 1, "maxLength": 1024,
                        "description": "The file, from the root of the workspace.",
                    },
                    "content": {"type": "string", "description": "All of its text."},
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let (workspaces, call) = (self.workspaces.clone(), call.clone());
            let outgoing = self.outgoing.clone();
            blocking(move || change(&workspaces, &call)?.weighed(&*outgoing)).await
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let (workspaces, call) = (self.workspaces.clone(), call.clone());
            blocking(move || change(&workspaces, &call)?.carry_out(&workspaces, &call)).await
        })
    }
}

fn change(workspaces: &Workspaces, call: &Invocation) -> Result<Change, ToolFault> {
    let Wanted { path, content } = arguments(call)?;
    let path = WorkPath::of_file(&path)?;
    let base = Base::find(workspaces.find(&call.agent)?.as_ref(), &path)?;
    Ok(Change { path, base, content })
}

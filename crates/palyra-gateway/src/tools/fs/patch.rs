//! `fs.patch`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use palyra_connector_core::Outgoing;
use serde::Deserialize;
use serde_json::json;

use super::change::{Base, Change};
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::{arguments, blocking};
use crate::tools::workspace::{MAX_TEXT, WorkPath, Workspaces, as_text};

pub(super) struct Patch {
    pub(super) workspaces: Workspaces,
    pub(super) outgoing: Arc<dyn Outgoing>,
}

#[derive(Deserialize)]
struct Wanted {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

impl Tool for Patch {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "fs.patch",
            description: "Replaces a piece of a text file of your workspace by another. The old \
                          piece must be there exactly once, character by character, unless all \
                          of them are to be replaced.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string", "minLength": 1, "maxLength": 1024,
                        "description": "The file, from the root of the workspace.",
                    },
                    "old": {
                        "type": "string", "minLength": 1,
                        "description": "The text to be replaced, with enough around it to be the \
                                        only one.",
                    },
                    "new": {"type": "string", "description": "The text in its place."},
                    "all": {
                        "type": "boolean",
                        "description": "Whether to replace it wherever it stands.",
                    },
                },
                "required": ["path", "old", "new"],
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
    let wanted: Wanted = arguments(call)?;
    let path = WorkPath::of_file(&wanted.path)?;
    let base = Base::find(workspaces.find(&call.agent)?.as_ref(), &path)?;
    let Some(base) = base else {
        let what = format!("{path} is not there: make it with fs.write, or look with fs.list");
        return Err(ToolFault::new(what));
    };
    if base.content.len() as u64 > MAX_TEXT {
        return Err(ToolFault::new(format!(
            "{path} has more than {MAX_TEXT} bytes: it is too large"
        )));
    }
    let content = replaced(&as_text(&path, base.content.clone())?, &wanted)?;
    Ok(Change { path, base: Some(base), content })
}

fn replaced(text: &str, wanted: &Wanted) -> Result<String, ToolFault> {
    let Wanted { old, new, all, .. } = wanted;
    if old == new {
        return Err(ToolFault::new("old and new are the same: there is nothing to change"));
    }
    let Some(first) = text.find(old.as_str()).filter(|_| !old.is_empty()) else {
        let what = "old is not in the file: read the file, and copy the piece exactly";
        return Err(ToolFault::new(what));
    };
    // Also where it overlaps with the first: nobody could say which one is meant.
    let behind = first + text[first..].chars().next().map_or(1, char::len_utf8);
    if !all && text[behind..].contains(old.as_str()) {
        let what = "old is in the file more than once: take more of what is around it, or set all";
        return Err(ToolFault::new(what));
    }
    // Each could become larger than the whole file may be.
    let grows =
        new.len().saturating_sub(old.len()).saturating_mul(text.matches(old.as_str()).count());
    if text.len().saturating_add(grows) as u64 > MAX_TEXT {
        return Err(ToolFault::new(format!("the file would have more than {MAX_TEXT} bytes")));
    }
    Ok(if *all { text.replace(old.as_str(), new) } else { text.replacen(old.as_str(), new, 1) })
}

//! `fs.list`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::ToolReach;
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::json;

use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::{arguments, blocking, reads};
use crate::tools::workspace::{Entry, WorkPath, Workspace, Workspaces};

const LIMIT: usize = 200;
const MAX_LIMIT: usize = 1_000;

pub(super) struct List(pub(super) Workspaces);

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    path: String,
    #[serde(default)]
    after: String,
    limit: Option<usize>,
}

impl Tool for List {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "fs.list",
            description: "Lists a folder of your workspace by name, with the sizes of files. \
                          Links are shown and never followed.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string", "maxLength": 1024,
                        "description": "The folder, from the root of the workspace; \
                                        without it, the root.",
                    },
                    "after": {
                        "type": "string", "maxLength": 255,
                        "description": "Go on behind this name.",
                    },
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
                },
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let path = WorkPath::parse(&arguments::<Wanted>(call)?.path)?;
            Ok(reads(ToolReach::OwnData, format!("list {path}")))
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            let path = WorkPath::parse(&wanted.path)?;
            let (workspaces, agent) = (self.0.clone(), call.agent.clone());
            let list = move || match workspaces.find(&agent)? {
                Some(workspace) => list(&workspace, &path, &wanted),
                None if path.is_root() => Ok("[the workspace is empty]".to_owned()),
                None => Err(ToolFault::new(format!("{path} is not there: the workspace is empty"))),
            };
            blocking(list).await.map(ToolDone::untrusted)
        })
    }
}

fn list(workspace: &Workspace, path: &WorkPath, wanted: &Wanted) -> Result<String, ToolFault> {
    let limit = wanted.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
    // One more than is shown, so that it is known whether there are more.
    let mut first: BTreeMap<String, Entry> = BTreeMap::new();
    let keep = |entry: Entry| {
        if entry.shown.as_str() > wanted.after.as_str() {
            first.insert(entry.shown.clone(), entry);
            if first.len() > limit + 1 {
                first.pop_last();
            }
        }
    };
    let all = workspace.entries(path, keep)?;
    let mut told = String::new();
    for entry in first.values().take(limit) {
        line(&mut told, entry).unwrap_or_default();
    }
    if first.is_empty() {
        told.push_str("[nothing]");
    } else if first.len() > limit {
        let last = first.keys().nth(limit - 1).map_or("", String::as_str);
        write!(told, "[there are more; go on with \"after\": {last:?}]").unwrap_or_default();
    }
    if !all {
        told.push_str("[the folder has too many entries: not all were looked at]");
    }
    Ok(told)
}

fn line(told: &mut String, entry: &Entry) -> std::fmt::Result {
    let Entry { name, shown, kind, size } = entry;
    match kind {
        FileType::Directory => write!(told, "{shown}/")?,
        FileType::RegularFile => write!(told, "{shown}  {size} bytes")?,
        FileType::Symlink => write!(told, "{shown}  (a link: not followed)")?,
        _ => write!(told, "{shown}  (no regular file: not used)")?,
    }
    told.push_str(if name.is_none() { "  (a name that cannot be used)\n" } else { "\n" });
    Ok(())
}

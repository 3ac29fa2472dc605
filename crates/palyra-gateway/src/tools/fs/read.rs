//! `fs.read`.

use std::fmt::Write as _;
use std::os::unix::fs::FileExt;

use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::ToolReach;
use serde::Deserialize;
use serde_json::json;

use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::{arguments, blocking, reads};
use crate::tools::page::{LEAST, more, page, wanted};
use crate::tools::workspace::{MAX_TEXT, Opened, WorkPath, Workspaces};

/// What fits into one answer, with its line numbers.
const LIMIT: u64 = 12 * 1024;
/// Lines are counted no further than this.
const MAX_COUNTED: u64 = 16 << 20;

pub(super) struct Read(pub(super) Workspaces);

#[derive(Deserialize)]
struct Wanted {
    path: String,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
    #[serde(default)]
    line_numbers: bool,
}

impl Tool for Read {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "fs.read",
            description: "Reads a text file of your workspace, a piece at a time.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string", "minLength": 1, "maxLength": 1024,
                        "description": "The file, from the root of the workspace.",
                    },
                    "offset": {
                        "type": "integer", "minimum": 0,
                        "description": "The byte to begin at.",
                    },
                    "limit": {
                        "type": "integer", "minimum": LEAST, "maximum": MAX_TEXT,
                        "description": "How many bytes.",
                    },
                    "line_numbers": {
                        "type": "boolean",
                        "description": "Whether each line begins with its number.",
                    },
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let path = WorkPath::of_file(&arguments::<Wanted>(call)?.path)?;
            Ok(reads(ToolReach::OwnData, format!("read {path}")))
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            let path = WorkPath::of_file(&wanted.path)?;
            let (workspaces, agent) = (self.0.clone(), call.agent.clone());
            let read = move || {
                let absent =
                    || ToolFault::new(format!("{path} is not there: the workspace is empty"));
                let workspace = workspaces.find(&agent)?.ok_or_else(absent)?;
                piece(&workspace.file(&path)?, &path, &wanted)
            };
            blocking(read).await.map(ToolDone::untrusted)
        })
    }
}

fn piece(opened: &Opened, path: &WorkPath, asked: &Wanted) -> Result<String, ToolFault> {
    let Wanted { offset, limit, line_numbers, .. } = *asked;
    let limit = limit.unwrap_or(LIMIT).clamp(LEAST, MAX_TEXT);
    if offset > 0 && offset >= opened.size {
        return Err(ToolFault::new(format!("{path} has only {} bytes", opened.size)));
    }
    let bytes = read_at(opened, offset, wanted(limit)).map_err(|error| unread(path, &error))?;
    let page = page(&bytes, offset, limit)
        .map_err(|_| ToolFault::new(format!("{path} is not UTF-8 text: only text is read")))?;
    let mut told = match line_numbers {
        true => numbered(page.text, lines_before(opened, path, offset)?),
        false => page.text.to_owned(),
    };
    told.extend(more(page.next, opened.size));
    Ok(told)
}

fn read_at(opened: &Opened, offset: u64, count: u64) -> std::io::Result<Vec<u8>> {
    let count = count.min(opened.size.saturating_sub(offset));
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        match opened.file.read_at(&mut bytes[filled..], offset + filled as u64)? {
            // It has become shorter.
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn lines_before(opened: &Opened, path: &WorkPath, offset: u64) -> Result<usize, ToolFault> {
    if offset > MAX_COUNTED {
        let what = format!("lines are counted in the first {MAX_COUNTED} bytes: read without them");
        return Err(ToolFault::new(what));
    }
    let before = read_at(opened, 0, offset).map_err(|error| unread(path, &error))?;
    Ok(before.iter().filter(|byte| **byte == b'\n').count())
}

fn numbered(text: &str, before: usize) -> String {
    let mut told = String::with_capacity(text.len() * 2);
    for (number, line) in (before + 1..).zip(text.split_inclusive('\n')) {
        write!(told, "{number:>6}  {line}").unwrap_or_default();
    }
    told
}

fn unread(path: &WorkPath, error: &std::io::Error) -> ToolFault {
    ToolFault::new(format!("{path} cannot be read: {error}"))
}

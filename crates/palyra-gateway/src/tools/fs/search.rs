//! `fs.search`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::ToolReach;
use regex::{Regex, RegexBuilder};
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::json;

use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::ask::{arguments, blocking, reads};
use crate::tools::show::cut;
use crate::tools::workspace::{MAX_TEXT, WorkPath, Workspace, Workspaces, as_text};

const LIMIT: usize = 50;
const MAX_LIMIT: usize = 200;
const MAX_FILES: usize = 5_000;
const MAX_BYTES: usize = 32 << 20;
/// So much is shown of a line.
const LINE_CHARS: usize = 200;
/// Compiled, in bytes: what is larger could take minutes.
const MAX_PATTERN: usize = 1 << 18;
const MOST_TIME: Duration = Duration::from_secs(20);

pub(super) struct Search(pub(super) Workspaces);

#[derive(Deserialize)]
struct Wanted {
    query: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    limit: Option<usize>,
}

impl Tool for Search {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "fs.search",
            description: "Finds lines in the text files of your workspace.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string", "minLength": 1, "maxLength": 1000,
                        "description": "What a line has to contain.",
                    },
                    "path": {
                        "type": "string", "maxLength": 1024,
                        "description": "The folder or file to search; without it, everything.",
                    },
                    "regex": {
                        "type": "boolean",
                        "description": "Whether the query is a regular expression.",
                    },
                    "ignore_case": {"type": "boolean"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            pattern(&wanted)?;
            let path = WorkPath::parse(&wanted.path)?;
            let query = cut(&wanted.query, 100);
            Ok(reads(ToolReach::OwnData, format!("search {path} for {query}")))
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            let (path, pattern) = (WorkPath::parse(&wanted.path)?, pattern(&wanted)?);
            let limit = wanted.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
            let (workspaces, agent) = (self.0.clone(), call.agent.clone());
            // Nobody waits for a search whose call was interrupted.
            let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
            let stopped = stop.0.clone();
            let search = move || match workspaces.find(&agent)? {
                Some(workspace) => {
                    let mut found = Found::new(pattern, limit, stopped);
                    found.search(&workspace, path)?;
                    Ok(found.told())
                }
                None => Ok("[the workspace is empty]".to_owned()),
            };
            blocking(search).await.map(ToolDone::untrusted)
        })
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn pattern(wanted: &Wanted) -> Result<Regex, ToolFault> {
    let query = match wanted.regex {
        true => wanted.query.clone(),
        false if wanted.query.contains('\n') => {
            return Err(ToolFault::new(
                "a query is looked for within one line: leave out the others",
            ));
        }
        false => regex::escape(&wanted.query),
    };
    let built = RegexBuilder::new(&query)
        .case_insensitive(wanted.ignore_case)
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(4 << 20)
        .nest_limit(64)
        .build();
    built.map_err(|error| ToolFault::new(format!("the query is no usable expression: {error}")))
}

struct Found {
    pattern: Regex,
    limit: usize,
    stopped: Arc<AtomicBool>,
    until: Instant,
    lines: String,
    matches: usize,
    files: usize,
    bytes: usize,
    skipped: usize,
    /// Why not everything was searched.
    ended: Option<&'static str>,
}

impl Found {
    fn new(pattern: Regex, limit: usize, stopped: Arc<AtomicBool>) -> Self {
        let until = Instant::now() + MOST_TIME;
        let (lines, ended) = (String::new(), None);
        let (matches, files, bytes, skipped) = (0, 0, 0, 0);
        Self { pattern, limit, stopped, until, lines, matches, files, bytes, skipped, ended }
    }

    fn search(&mut self, workspace: &Workspace, path: WorkPath) -> Result<(), ToolFault> {
        if !path.is_root() && workspace.entries(&path, |_| {}).is_err() {
            // No folder: then it has to be a file, or what is wrong is said.
            workspace.file(&path)?;
            self.file(workspace, &path);
            return Ok(());
        }
        let mut folders = vec![path];
        while let Some(folder) = folders.pop() {
            let (mut files, mut below) = (Vec::new(), Vec::new());
            let mut skipped = 0;
            let listed = workspace.entries(&folder, |entry| {
                let path = entry.name.and_then(|name| folder.join(&name).ok());
                match (entry.kind, path) {
                    (FileType::Directory, Some(path)) => below.push(path),
                    (FileType::RegularFile, Some(path)) => files.push(path),
                    _ => skipped += 1,
                }
            });
            // A folder that went away meanwhile, or became a link.
            self.skipped += skipped + usize::from(!matches!(listed, Ok(true)));
            files.sort();
            for file in files {
                self.file(workspace, &file);
                if self.ended.is_some() {
                    return Ok(());
                }
            }
            below.sort_by(|a, b| b.cmp(a));
            folders.extend(below);
        }
        Ok(())
    }

    fn file(&mut self, workspace: &Workspace, path: &WorkPath) {
        self.ended = self.over();
        if self.ended.is_some() {
            return;
        }
        let read = workspace.file(path).and_then(|opened| opened.read(path, MAX_TEXT));
        let Ok(text) = read.and_then(|bytes| as_text(path, bytes)) else {
            self.skipped += 1;
            return;
        };
        self.files += 1;
        self.bytes += text.len();
        for (number, line) in (1..).zip(text.lines()) {
            if self.ended.is_some() {
                return;
            }
            if let Some(at) = self.pattern.find(line) {
                // What was found is shown, also far behind in a long line.
                let from = line[..at.start()].char_indices().rev().nth(LINE_CHARS / 2);
                let shown = cut(&line[from.map_or(0, |(from, _)| from)..], LINE_CHARS);
                writeln!(self.lines, "{path}:{number}: {shown}").unwrap_or_default();
                self.matches += 1;
            }
            self.ended = self.over();
        }
    }

    fn over(&self) -> Option<&'static str> {
        if self.stopped.load(Ordering::Relaxed) {
            Some("interrupted")
        } else if self.matches >= self.limit {
            Some("there may be more matches")
        } else if self.files >= MAX_FILES || self.bytes >= MAX_BYTES {
            Some("there are too many files")
        } else if Instant::now() > self.until {
            Some("it took too long")
        } else {
            None
        }
    }

    fn told(self) -> String {
        let Self { lines, matches, files, skipped, ended, .. } = self;
        let skipped = match skipped {
            0 => String::new(),
            some => format!(", {some} skipped (links, no text, or too large)"),
        };
        let ended =
            ended.map(|why| format!("; stopped early: {why}. Narrow the path or the query"));
        format!("{lines}[{matches} in {files} files{skipped}{}]", ended.unwrap_or_default())
    }
}

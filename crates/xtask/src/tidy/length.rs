//! Files and functions stay short, and `lib.rs` is a table of contents.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Deserialize;
use syn::Item;
use syn::spanned::Spanned as _;

use super::model::{Violation, Workspace};
use super::source::{Class, SourceFile};
use super::tokens::{self, Found, Function};
use crate::codegen;

pub(crate) const RULE: &str = "length";

const EXCEPTIONS: &str = "crates/xtask/tidy-exceptions.toml";
const WEB: &str = "apps/web/";
const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;
const MAX_WEB_LINES: usize = 300;
/// How many exceptions there are. Lower it with each that goes; it is never raised.
const MOST_EXCEPTIONS: usize = 0;

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    check_with(workspace, MOST_EXCEPTIONS)
}

fn check_with(workspace: &Workspace, most: usize) -> Vec<Violation> {
    let exceptions = match toml::from_str(workspace.text(EXCEPTIONS).unwrap_or_default()) {
        Ok(Exceptions { exception }) => exception,
        Err(error) => {
            let what = format!("cannot be read: {}", error.message());
            let fix = "write [[exception]] tables with path, function (if one), lines and reason";
            return vec![Violation::new(RULE, EXCEPTIONS, what, fix)];
        }
    };
    let measured = measure(workspace);
    let too_long = measured.iter().filter_map(|(piece, measure)| piece.judge(measure, &exceptions));
    let stale = exceptions.iter().filter_map(|exception| exception.judge(&measured));
    let contents = workspace.sources.iter().flat_map(check_table_of_contents);
    let count = judge_count(exceptions.len(), most);
    too_long.chain(count).chain(stale).chain(contents).collect()
}

fn judge_count(count: usize, most: usize) -> Option<Violation> {
    let (what, fix) = match count.cmp(&most) {
        Ordering::Equal => return None,
        Ordering::Greater => (
            format!("lists {count}, but the list only shrinks, and is at {most}"),
            "shorten what is too long instead of listing it",
        ),
        Ordering::Less => (
            format!("lists only {count}, and MOST_EXCEPTIONS still says {most}"),
            "lower MOST_EXCEPTIONS in crates/xtask/src/tidy/length.rs, so that it stays there",
        ),
    };
    Some(Violation::new(RULE, EXCEPTIONS, what, fix))
}

/// What has a length: a file, or the functions of one name in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    File { path: String },
    Web { path: String },
    Function { path: String, name: String },
}

struct Measure {
    lines: usize,
    line: Option<usize>,
}

fn measure(workspace: &Workspace) -> BTreeMap<Piece, Measure> {
    let mut measured = BTreeMap::new();
    for source in workspace.sources.iter().filter(|source| source.is_product()) {
        let path = source.path.clone();
        let measure = Measure { lines: source.lines, line: None };
        measured.insert(Piece::File { path }, measure);
        for function in functions_and_closures(source) {
            let piece = Piece::Function { path: source.path.clone(), name: function.value.name };
            let measure = Measure { lines: function.value.lines, line: Some(function.line) };
            let longest = measured.entry(piece).or_insert(Measure { lines: 0, line: None });
            if measure.lines > longest.lines {
                *longest = measure;
            }
        }
    }
    for (path, text) in &workspace.texts {
        if path.starts_with(WEB) && !codegen::writes(path) {
            let measure = Measure { lines: text.lines().count(), line: None };
            measured.insert(Piece::Web { path: path.clone() }, measure);
        }
    }
    measured
}

/// A closure counts by itself where it is not a part of a function: in a constant or a static.
fn functions_and_closures(source: &SourceFile) -> Vec<Found<Function>> {
    let mut found = tokens::functions(&source.product);
    let covers = |function: &Found<Function>, line: usize| {
        (function.line..function.line + function.value.lines).contains(&line)
    };
    let mut closures = tokens::closures(&source.product);
    closures.retain(|closure| !found.iter().any(|function| covers(function, closure.line)));
    found.extend(closures);
    found
}

impl Piece {
    fn limit(&self) -> usize {
        match self {
            Self::File { .. } => MAX_FILE_LINES,
            Self::Web { .. } => MAX_WEB_LINES,
            Self::Function { .. } => MAX_FUNCTION_LINES,
        }
    }

    fn path(&self) -> &str {
        match self {
            Self::File { path } | Self::Web { path } | Self::Function { path, .. } => path,
        }
    }

    fn judge(&self, measure: &Measure, exceptions: &[Exception]) -> Option<Violation> {
        let allowed = exceptions
            .iter()
            .find(|exception| exception.piece() == *self)
            .map_or(self.limit(), |exception| exception.lines.max(self.limit()));
        if measure.lines <= allowed {
            return None;
        }
        let (what, fix) = match self {
            Self::File { .. } | Self::Web { .. } => (
                format!("has {} lines, {allowed} are allowed", measure.lines),
                "split it by command, handler, table, component or capability",
            ),
            Self::Function { name, .. } => (
                format!("function {name} has {} lines, {allowed} are allowed", measure.lines),
                "give its steps names as functions of their own",
            ),
        };
        let violation = Violation::new(RULE, self.path(), what, fix);
        Some(match measure.line {
            Some(line) => violation.at(line),
            None => violation,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    #[serde(default)]
    exception: Vec<Exception>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    path: String,
    /// Absent for an exception of the whole file.
    function: Option<String>,
    lines: usize,
    reason: String,
}

impl Exception {
    fn piece(&self) -> Piece {
        let path = self.path.clone();
        match &self.function {
            Some(name) => Piece::Function { path, name: name.clone() },
            None if path.starts_with(WEB) => Piece::Web { path },
            None => Piece::File { path },
        }
    }

    /// An exception may only shrink: it allows exactly what is there, and goes when nothing needs it.
    fn judge(&self, measured: &BTreeMap<Piece, Measure>) -> Option<Violation> {
        let piece = self.piece();
        let subject = match &piece {
            Piece::File { path } | Piece::Web { path } => path.clone(),
            Piece::Function { path, name } => format!("{name} in {path}"),
        };
        let (what, fix) = match measured.get(&piece).map(|measure| measure.lines) {
            None => (format!("names {subject}, which is not there"), "remove the exception".into()),
            Some(lines) if lines <= piece.limit() => {
                (format!("{subject} has {lines} lines and needs no exception"), "remove it".into())
            }
            Some(lines) if lines < self.lines => (
                format!("{subject} has shrunk to {lines} lines, the exception says {}", self.lines),
                format!("set lines = {lines}"),
            ),
            Some(_) if self.reason.trim().is_empty() => {
                (format!("the exception for {subject} has no reason"), "say why".into())
            }
            Some(_) => return None,
        };
        Some(Violation::new(RULE, EXCEPTIONS, what, fix))
    }
}

fn check_table_of_contents(source: &SourceFile) -> Vec<Violation> {
    if source.class != Class::Product || !source.path.ends_with("src/lib.rs") {
        return Vec::new();
    }
    let mut bodies = Vec::new();
    collect_bodies(&source.syntax.items, &mut bodies);
    let what = "lib.rs holds more than docs, attributes, mod and use";
    let fix = "move it to a module and re-export it";
    let violation = |line| Violation::new(RULE, &source.path, what, fix).at(line);
    bodies.first().copied().map(violation).into_iter().collect()
}

/// The lines of items that are neither modules nor uses; a module in place may group re-exports.
fn collect_bodies(items: &[Item], bodies: &mut Vec<usize>) {
    for item in items {
        match item {
            Item::Use(_) | Item::ExternCrate(_) => {}
            Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    collect_bodies(items, bodies);
                }
            }
            other => bodies.push(other.span().start().line),
        }
    }
}

#[cfg(test)]
mod tests;

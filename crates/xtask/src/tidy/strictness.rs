//! The strict lints stay on: in the workspace, for each crate, and in its code.

use std::collections::BTreeMap;

use serde::Deserialize;
use syn::Meta;

use super::layers::{self, Place};
use super::model::{Package, Violation, Workspace};
use super::source::SourceFile;
use super::tokens;

pub(crate) const RULE: &str = "strictness";

const ROOT: &str = "Cargo.toml";

/// What the workspace sets, at least as strictly as here.
const LINTS: &[(&str, &str, Level)] = &[
    ("rust", "unsafe_code", Level::Forbid),
    ("rust", "unreachable_pub", Level::Warn),
    ("rust", "unused_qualifications", Level::Warn),
    ("clippy", "all", Level::Warn),
    ("clippy", "dbg_macro", Level::Warn),
    ("clippy", "disallowed_methods", Level::Deny),
    ("clippy", "disallowed_types", Level::Deny),
    ("clippy", "expect_fun_call", Level::Warn),
    ("clippy", "panic", Level::Warn),
    ("clippy", "print_stderr", Level::Warn),
    ("clippy", "print_stdout", Level::Warn),
    ("clippy", "todo", Level::Warn),
    ("clippy", "unimplemented", Level::Warn),
    ("clippy", "unwrap_used", Level::Warn),
];

/// What product code never silences, whatever the reason: the lints that keep it from panicking and
/// from what its layer must not do, and the groups that hold them. Others need a reason, which
/// reviewers read.
const NEVER_SILENCED: &[&str] = &[
    "disallowed_methods",
    "disallowed_types",
    "expect_used",
    "missing_docs",
    "panic",
    "restriction",
    "todo",
    "unimplemented",
    "unwrap_used",
    "warnings",
];

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Level {
    Allow,
    Warn,
    Deny,
    Forbid,
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut violations = check_root(workspace.text(ROOT).unwrap_or_default());
    violations.extend(workspace.packages.iter().filter_map(|of| check_docs(workspace, of)));
    let product = workspace.sources.iter().filter(|source| source.is_product());
    violations.extend(product.flat_map(check_source));
    violations
}

fn check_root(manifest: &str) -> Vec<Violation> {
    let lints = match toml::from_str::<Manifest>(manifest) {
        Ok(manifest) => manifest.workspace.lints,
        Err(error) => {
            let what = format!("its lints cannot be read: {}", error.message());
            return vec![Violation::new(RULE, ROOT, what, "write lints as name = \"level\"")];
        }
    };
    let is_strict = |(tool, name, least): &&(&str, &str, Level)| {
        lints.get(*tool).and_then(|of| of.get(*name)).is_some_and(|set| set.level() >= *least)
    };
    let lax = LINTS.iter().filter(|lint| !is_strict(lint)).map(|(tool, name, least)| {
        let least = match least {
            Level::Allow | Level::Warn => "warn",
            Level::Deny => "deny",
            Level::Forbid => "forbid",
        };
        let what = format!("[workspace.lints.{tool}] has {name} below {least:?}");
        let fix = "mend what the lint finds, rather than switching it off for all";
        Violation::new(RULE, ROOT, what, fix)
    });
    lax.collect()
}

/// What only tests and this repository's own tools link is documented as far as it helps.
fn check_docs(workspace: &Workspace, package: &Package) -> Option<Violation> {
    let place = layers::row(&package.name).map(|row| row.place);
    if !package.is_library || matches!(place, Some(Place::Tests | Place::Tools)) {
        return None;
    }
    let path = format!("{}/src/lib.rs", package.dir);
    let root = workspace.sources.iter().find(|source| source.path == path);
    let demands = |attribute: &syn::Attribute| {
        ["warn", "deny", "forbid"].iter().any(|level| attribute.path().is_ident(level))
            && lints_of(&attribute.meta).iter().any(|lint| lint == "missing_docs")
    };
    if root.is_some_and(|root| root.syntax.attrs.iter().any(demands)) {
        return None;
    }
    let what = "a library crate without #![warn(missing_docs)]";
    Some(Violation::new(RULE, path, what, "add it, and say what each public thing is for"))
}

fn check_source(source: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for attribute in tokens::attributes(&source.product) {
        let path = attribute.value.path();
        if !path.is_ident("allow") && !path.is_ident("expect") {
            continue;
        }
        let lints = lints_of(&attribute.value).into_iter();
        for lint in lints.filter(|lint| NEVER_SILENCED.contains(&lint.as_str())) {
            let what = format!("silences {lint} in product code");
            let fix = "return an error, or restructure so that the lint is content";
            violations.push(Violation::new(RULE, &source.path, what, fix).at(attribute.line));
        }
    }
    violations
}

/// The lints that `allow(…)` and its like name, without their tool.
fn lints_of(meta: &Meta) -> Vec<String> {
    let Meta::List(list) = meta else {
        return Vec::new();
    };
    let named = tokens::paths(&list.tokens).into_iter();
    named.filter_map(|path| path.value.last().cloned()).collect()
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    workspace: Section,
}

#[derive(Deserialize, Default)]
struct Section {
    #[serde(default)]
    lints: BTreeMap<String, BTreeMap<String, Setting>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Setting {
    Plain(Level),
    Detailed { level: Level },
}

impl Setting {
    fn level(&self) -> Level {
        match self {
            Self::Plain(level) | Self::Detailed { level } => *level,
        }
    }
}

#[cfg(test)]
mod tests;

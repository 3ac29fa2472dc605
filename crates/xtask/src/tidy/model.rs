//! The small picture of the workspace that the rules look at.

use std::collections::BTreeMap;

use super::source::SourceFile;

/// Everything a rule may know. Built once by `load`; rules do no IO.
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    pub(crate) sources: Vec<SourceFile>,
    /// Every other file a rule reads, by path from the root: manifests, `clippy.toml`, docs,
    /// the list of exceptions, sources of the web console.
    pub(crate) texts: BTreeMap<String, String>,
    /// The registry of stable error codes.
    pub(crate) error_codes: Vec<String>,
}

impl Workspace {
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }
}

pub(crate) struct Package {
    pub(crate) name: String,
    /// Folder from the root of the workspace, `/`-separated.
    pub(crate) dir: String,
    pub(crate) publishable: bool,
    pub(crate) is_library: bool,
    pub(crate) dependencies: Vec<Dependency>,
}

impl Package {
    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.dir)
    }
}

#[derive(Clone)]
pub(crate) struct Dependency {
    /// The name of the package, also where the manifest renames it.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) origin: Origin,
    /// The version requirement as cargo shows it; `*` where none was given.
    pub(crate) requirement: String,
    pub(crate) default_features: bool,
    pub(crate) features: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Normal,
    Dev,
    Build,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A member of this workspace.
    Own,
    Registry,
    Git,
    /// A folder that is not a member of this workspace.
    Elsewhere,
}

/// One broken rule: where, what is wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: &'static str,
    pub(crate) path: String,
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
    pub(crate) fix: String,
}

impl Violation {
    pub(crate) fn new(
        rule: &'static str,
        path: impl Into<String>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { rule, path: path.into(), line: None, what: what.into(), fix: fix.into() }
    }

    pub(crate) fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

//! Builds small workspaces for the tests of the rules.

use std::collections::BTreeMap;

use super::model::{Dependency, Kind, Origin, Package, Violation, Workspace};
use super::source::{SourceFile, mark_test_modules};

impl Workspace {
    pub(crate) fn empty() -> Self {
        Self {
            packages: Vec::new(),
            sources: Vec::new(),
            texts: BTreeMap::new(),
            error_codes: Vec::new(),
        }
    }

    pub(crate) fn with_package(mut self, name: &str, dependencies: &[Dependency]) -> Self {
        self.packages.push(Package {
            name: name.to_owned(),
            dir: format!("crates/{name}"),
            publishable: false,
            is_library: false,
            dependencies: dependencies.to_vec(),
        });
        self
    }

    pub(crate) fn with_source(mut self, path: &str, text: &str) -> Self {
        self.sources.push(SourceFile::parse(path, text).unwrap());
        mark_test_modules(&mut self.sources);
        self
    }

    pub(crate) fn with_text(mut self, path: &str, text: &str) -> Self {
        self.texts.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(crate) fn with_error_codes(mut self, codes: &[&str]) -> Self {
        self.error_codes = codes.iter().map(|code| (*code).to_owned()).collect();
        self
    }
}

pub(crate) fn own(name: &str) -> Dependency {
    Dependency { origin: Origin::Own, requirement: "*".to_owned(), ..foreign(name) }
}

pub(crate) fn foreign(name: &str) -> Dependency {
    Dependency {
        name: name.to_owned(),
        kind: Kind::Normal,
        origin: Origin::Registry,
        requirement: "^1".to_owned(),
        default_features: true,
        features: Vec::new(),
    }
}

impl Dependency {
    pub(crate) fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Exactly these features, without the default ones.
    pub(crate) fn only(self, features: &[&str]) -> Self {
        let features = features.iter().map(|feature| (*feature).to_owned()).collect();
        Self { default_features: false, features, ..self }
    }
}

/// What the violations say, one line each: `path:line: what`.
pub(crate) fn lines(violations: &[Violation]) -> Vec<String> {
    violations
        .iter()
        .map(|violation| match violation.line {
            Some(line) => format!("{}:{line}: {}", violation.path, violation.what),
            None => format!("{}: {}", violation.path, violation.what),
        })
        .collect()
}

//! A crate depends only on layers below its own, and on its own layer only where the table says so.

use std::collections::BTreeSet;

use super::model::{Dependency, Kind, Origin, Package, Violation, Workspace};

pub(crate) const RULE: &str = "layers";

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Where a crate stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// Built for plugin guests: knows nothing of ours, and nothing of ours links it.
    Guest,
    Layer(u8),
    /// `palyra-testkit`: sees everything, seen only by tests.
    Tests,
    /// `xtask`: sees everything, seen by nothing.
    Tools,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    /// Crates of the same layer that this one may depend on.
    uses: &'static [&'static str],
    /// Crates that this one must not reach, not even through others.
    never: &'static [&'static str],
}

impl Row {
    const fn new(name: &'static str, place: Place) -> Self {
        Self { name, place, uses: &[], never: &[] }
    }

    const fn uses(mut self, uses: &'static [&'static str]) -> Self {
        self.uses = uses;
        self
    }

    const fn never(mut self, never: &'static [&'static str]) -> Self {
        self.never = never;
        self
    }
}

/// The table of layers, also of crates to come. `ARCHITECTURE.md` describes those that are there.
pub(crate) const TABLE: &[Row] = &[
    Row::new("palyra-common", Place::Layer(0)),
    Row::new("palyra-policy", Place::Layer(0)).uses(&["palyra-common"]),
    Row::new("palyra-storage", Place::Layer(1)),
    Row::new("palyra-net", Place::Layer(1)),
    Row::new("palyra-connector-core", Place::Layer(2)),
    Row::new("palyra-vault", Place::Layer(2)),
    Row::new("palyra-identity", Place::Layer(2)),
    Row::new("palyra-models", Place::Layer(2)),
    Row::new("palyra-plugins-runtime", Place::Layer(2)),
    Row::new("palyra-skills", Place::Layer(2)),
    Row::new("palyra-plugins-sdk", Place::Guest),
    Row::new("palyra-authz", Place::Layer(2)),
    Row::new("palyra-sandbox", Place::Layer(2)),
    Row::new("palyra-memory", Place::Layer(2)),
    Row::new("palyra-connector-discord", Place::Layer(3)),
    Row::new("palyra-connectors", Place::Layer(3)).uses(&["palyra-connector-discord"]),
    Row::new("palyra-gateway", Place::Layer(4)),
    Row::new("palyra-control-plane", Place::Layer(4)).uses(&["palyra-gateway"]),
    Row::new("palyra-daemon", Place::Layer(5)),
    Row::new("palyra-browserd", Place::Layer(5)),
    Row::new("palyra-client", Place::Layer(5)).never(&["palyra-storage"]),
    Row::new("palyra-cli", Place::Layer(5)).uses(&["palyra-client"]).never(&["palyra-storage"]),
    Row::new("palyra-testkit", Place::Tests),
    Row::new("xtask", Place::Tools),
];

pub(crate) fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    workspace.packages.iter().flat_map(|package| check_package(workspace, package)).collect()
}

fn check_package(workspace: &Workspace, package: &Package) -> Vec<Violation> {
    let Some(row) = row(&package.name) else {
        let what = format!("{} has no layer", package.name);
        let fix = "give it a row in the table of crates/xtask/src/tidy/layers.rs and in \
                   ARCHITECTURE.md";
        return vec![Violation::new(RULE, package.manifest(), what, fix)];
    };
    let own = package.dependencies.iter().filter(|dependency| dependency.origin == Origin::Own);
    let upward = own.filter(|dependency| !may_depend(row, dependency)).map(|dependency| {
        let what = format!(
            "{} ({}) depends on {} ({})",
            package.name,
            row.place,
            dependency.name,
            self::row(&dependency.name)
                .map_or_else(|| "no layer".to_owned(), |of| of.place.to_string()),
        );
        let fix = "let the lower crate own a trait that the higher one implements, or move the \
                   code down";
        Violation::new(RULE, package.manifest(), what, fix)
    });
    let described = rows_of(workspace.text(ARCHITECTURE).unwrap_or_default());
    let missing = (!described.contains(package.name.as_str())).then(|| {
        let what = format!("{} has no row in the table of crates", package.name);
        Violation::new(RULE, ARCHITECTURE, what, "add a row that says what the crate holds")
    });
    let reached = reachable(workspace, package);
    let seen = row.never.iter().filter(|name| reached.contains(**name)).map(|name| {
        let what = format!("{} reaches {name}, which it must never see", package.name);
        let fix = "move the shared types to palyra-common";
        Violation::new(RULE, package.manifest(), what, fix)
    });
    upward.chain(seen).chain(missing).collect()
}

/// The crates of the table: the second cell of `` | layer | `crate` | what it holds | ``.
fn rows_of(text: &str) -> BTreeSet<&str> {
    let rows = text.lines().filter(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(2)?.trim().strip_prefix('`')?.strip_suffix('`'))
        .collect()
}

/// A dependency on the testkit outside of tests is reported by the rule on confined dependencies.
fn may_depend(from: &Row, dependency: &Dependency) -> bool {
    let Some(to) = row(&dependency.name) else {
        return true;
    };
    let is_test = dependency.kind == Kind::Dev;
    match (from.place, to.place) {
        (_, Place::Tests) => true,
        (Place::Guest, _) => is_test && from.name == to.name,
        (_, Place::Guest) => is_test,
        (_, Place::Tools) => false,
        (Place::Tools | Place::Tests, Place::Layer(_)) => true,
        (Place::Layer(above), Place::Layer(below)) => {
            below < above || from.uses.contains(&to.name) || (is_test && from.name == to.name)
        }
    }
}

/// What `package` links, tests apart.
fn reachable<'a>(workspace: &'a Workspace, package: &'a Package) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![package];
    while let Some(next) = open.pop() {
        for dependency in &next.dependencies {
            if dependency.kind == Kind::Normal
                && dependency.origin == Origin::Own
                && reached.insert(dependency.name.as_str())
            {
                open.extend(workspace.package(&dependency.name));
            }
        }
    }
    reached
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Guest => f.write_str("for guests"),
            Self::Layer(number) => write!(f, "layer {number}"),
            Self::Tests => f.write_str("for tests"),
            Self::Tools => f.write_str("a tool"),
        }
    }
}

#[cfg(test)]
mod tests;

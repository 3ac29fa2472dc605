//! Every direct dependency has a row in `docs/dependencies.md` that says where and why.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Origin, Violation, Workspace};

pub(crate) const RULE: &str = "dependencies";

const DOCS: &str = "docs/dependencies.md";

struct Row<'a> {
    line: usize,
    users: BTreeSet<&'a str>,
    reason: &'a str,
}

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let used = used(workspace);
    let (rows, mut violations) = rows(workspace.text(DOCS).unwrap_or_default());
    for (name, users) in &used {
        let Some(row) = rows.get(name) else {
            let what = format!("{name} (used by {}) has no row", list(users));
            violations.push(Violation::new(RULE, DOCS, what, "add a row that says why it is here"));
            continue;
        };
        if row.users != *users {
            let what = format!("{name}: the row says {}", list(&row.users));
            let fix = format!("write {}", list(users));
            violations.push(Violation::new(RULE, DOCS, what, fix).at(row.line));
        }
        if row.reason.is_empty() {
            let what = format!("{name}: the row gives no reason");
            violations.push(Violation::new(RULE, DOCS, what, "say why it is here").at(row.line));
        }
    }
    for (name, row) in rows.iter().filter(|(name, _)| !used.contains_key(**name)) {
        let what = format!("{name} has a row, but no crate depends on it");
        violations.push(Violation::new(RULE, DOCS, what, "remove the row").at(row.line));
    }
    violations
}

/// Every direct dependency that is not ours, with the crates that name it.
fn used(workspace: &Workspace) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut used = BTreeMap::<&str, BTreeSet<&str>>::new();
    for package in &workspace.packages {
        let foreign = package.dependencies.iter().filter(|of| of.origin != Origin::Own);
        for dependency in foreign {
            used.entry(&dependency.name).or_default().insert(&package.name);
        }
    }
    used
}

/// The rows of the table, and those that are there twice.
fn rows(text: &str) -> (BTreeMap<&str, Row<'_>>, Vec<Violation>) {
    let mut rows = BTreeMap::<&str, Row<'_>>::new();
    let mut doubled = Vec::new();
    let found = text.lines().enumerate().filter_map(|(at, line)| row(at + 1, line));
    for (name, row) in found {
        if let Some(first) = rows.get(name) {
            let what = format!("{name} has a row already, in line {}", first.line);
            doubled.push(Violation::new(RULE, DOCS, what, "make one of the two").at(row.line));
            continue;
        }
        rows.insert(name, row);
    }
    (rows, doubled)
}

/// One row: `` | `crate` | `user`, `user` | reason | ``.
fn row(line: usize, text: &str) -> Option<(&str, Row<'_>)> {
    let cells: Vec<&str> = text.trim().split('|').map(str::trim).collect();
    let ["", name, users, reason, ..] = cells.as_slice() else {
        return None;
    };
    let name = name.strip_prefix('`')?.strip_suffix('`')?;
    let users = users.split(',').map(|user| user.trim().trim_matches('`')).collect();
    Some((name, Row { line, users, reason }))
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;

//! Every crate is a full member of the workspace, and names say what a thing is.

use super::model::{Dependency, Origin, Package, Violation, Workspace};
use super::source::SourceFile;
use super::tokens;

pub(crate) const RULE: &str = "hygiene";

/// Names under which anything can hide.
const EMPTY_NAMES: &[&str] =
    &["util", "utils", "helper", "helpers", "misc", "manager", "managers", "common"];

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let packages = workspace.packages.iter().flat_map(|package| {
        let manifest = workspace.text(&package.manifest()).unwrap_or_default();
        check_package(package, manifest)
    });
    let names = workspace.sources.iter().flat_map(check_names);
    packages.chain(names).collect()
}

fn check_package(package: &Package, manifest: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut report = |what: String, fix: &str| {
        violations.push(Violation::new(RULE, package.manifest(), what, fix));
    };
    // Its manifest is not read either, so the lints cannot be judged.
    if !package.dir.starts_with("crates/") {
        let what = "is outside of crates/, where nothing looks at its sources";
        report(what.into(), "move the crate into crates/");
    } else if !inherits_lints(manifest) {
        report("does not take the lints of the workspace".into(), "add [lints] workspace = true");
    }
    if package.publishable {
        report("could be published".into(), "add publish.workspace = true");
    }
    for dependency in &package.dependencies {
        if let Some((what, fix)) = flaw(dependency) {
            report(format!("{} {what}", dependency.name), fix);
        }
    }
    violations
}

fn inherits_lints(manifest: &str) -> bool {
    let manifest = manifest.parse::<toml::Table>().ok();
    let lints = manifest.as_ref().and_then(|table| table.get("lints")?.get("workspace")?.as_bool());
    lints == Some(true)
}

fn flaw(dependency: &Dependency) -> Option<(&'static str, &'static str)> {
    match dependency.origin {
        Origin::Own => None,
        Origin::Git => Some(("comes from git", "take a released version from the registry")),
        Origin::Elsewhere => {
            Some(("is a folder outside of the workspace", "make it a member or take a release"))
        }
        Origin::Registry if dependency.requirement.contains('*') => {
            Some(("has no version", "name the version in [workspace.dependencies]"))
        }
        Origin::Registry => None,
    }
}

fn check_names(source: &SourceFile) -> Vec<Violation> {
    let fix = "name it after what it holds, or move its parts to where they are used";
    let mut violations = Vec::new();
    for part in source.path.trim_end_matches(".rs").split('/').filter(|part| is_empty(part)) {
        let what = format!("a file or folder named {part} says nothing");
        violations.push(Violation::new(RULE, &source.path, what, fix));
    }
    for module in tokens::modules(&source.product).iter().filter(|of| is_empty(&of.value)) {
        let what = format!("a module named {} says nothing", module.value);
        violations.push(Violation::new(RULE, &source.path, what, fix).at(module.line));
    }
    violations
}

fn is_empty(name: &str) -> bool {
    EMPTY_NAMES.contains(&name)
}

#[cfg(test)]
mod tests;

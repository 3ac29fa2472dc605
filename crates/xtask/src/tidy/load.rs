//! Reads the workspace from disk: the only part of tidy that does IO.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{DependencyKind, Metadata};

use super::model::{Dependency, Kind, Origin, Package, Workspace};
use super::source::{self, SourceFile};

/// Folders beside `src` that hold nothing of ours to check.
const SKIPPED_FOLDERS: &[&str] = &["target", "node_modules", "dist", "fixtures"];

pub(crate) fn workspace(metadata: &Metadata) -> Result<Workspace> {
    let root = metadata.workspace_root.as_std_path();
    let packages = packages(metadata)?;
    let mut sources = Vec::new();
    let mut texts = BTreeMap::new();
    visit_files(root, &root.join("crates"), &mut |path, file| {
        if path.ends_with(".rs") {
            sources.push(SourceFile::parse(&path, &read(file)?)?);
        } else if path.ends_with(".toml") {
            texts.insert(path, read(file)?);
        }
        Ok(())
    })?;
    visit_files(root, &root.join("docs"), &mut |path, file| {
        if path.ends_with(".md") || path.ends_with(".toml") {
            texts.insert(path, read(file)?);
        }
        Ok(())
    })?;
    visit_files(root, &root.join("apps/web"), &mut |path, file| {
        if path.ends_with(".ts") || path.ends_with(".tsx") {
            texts.insert(path, read(file)?);
        }
        Ok(())
    })?;
    for name in ["Cargo.toml", "ARCHITECTURE.md"] {
        texts.insert(name.to_owned(), read(&root.join(name))?);
    }
    source::mark_test_modules(&mut sources);
    let error_codes = palyra_common::ErrorCode::ALL.iter().map(|code| code.as_str().to_owned());
    Ok(Workspace { packages, sources, texts, error_codes: error_codes.collect() })
}

fn packages(metadata: &Metadata) -> Result<Vec<Package>> {
    let members = metadata.workspace_packages();
    let own = |name: &str, folder: &Path| {
        members.iter().any(|member| {
            member.name.as_str() == name
                && member.manifest_path.parent().is_some_and(|dir| dir.as_std_path() == folder)
        })
    };
    members
        .iter()
        .map(|member| {
            let folder = member.manifest_path.parent().context("a manifest stands in a folder")?;
            let dependencies = member.dependencies.iter().map(|dependency| {
                Ok(Dependency {
                    name: dependency.name.clone(),
                    kind: kind(dependency.kind)?,
                    origin: match (&dependency.path, &dependency.source) {
                        (Some(path), _) if own(&dependency.name, path.as_std_path()) => Origin::Own,
                        (Some(_), _) => Origin::Elsewhere,
                        (None, Some(source)) if source.repr.starts_with("git+") => Origin::Git,
                        (None, _) => Origin::Registry,
                    },
                    requirement: dependency.req.to_string(),
                    default_features: dependency.uses_default_features,
                    features: features(member, dependency),
                })
            });
            Ok(Package {
                name: member.name.to_string(),
                dir: relative(metadata.workspace_root.as_std_path(), folder.as_std_path())?,
                publishable: member.publish.as_ref().is_none_or(|places| !places.is_empty()),
                is_library: member.targets.iter().any(cargo_metadata::Target::is_lib),
                dependencies: dependencies.collect::<Result<_>>()?,
            })
        })
        .collect()
}

/// The features that the manifest asks for, also through the package's own features
/// (`serve = ["tonic/server"]`).
fn features(
    package: &cargo_metadata::Package,
    dependency: &cargo_metadata::Dependency,
) -> Vec<String> {
    let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
    let forwarded = package.features.values().flatten().filter_map(|feature| {
        let (of, feature) = feature.split_once('/')?;
        (of.trim_end_matches('?') == name).then(|| feature.to_owned())
    });
    dependency.features.iter().cloned().chain(forwarded).collect()
}

fn kind(kind: DependencyKind) -> Result<Kind> {
    Ok(match kind {
        DependencyKind::Normal => Kind::Normal,
        DependencyKind::Development => Kind::Dev,
        DependencyKind::Build => Kind::Build,
        other => {
            bail!("cargo metadata names a kind of dependency that tidy does not know: {other}")
        }
    })
}

/// Calls `visit` with the path from `root` and the full path of every file under `folder`, in
/// order; a folder that is not there holds no files.
fn visit_files(
    root: &Path,
    folder: &Path,
    visit: &mut dyn FnMut(String, &Path) -> Result<()>,
) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    for path in paths {
        let inside = relative(root, &path)?;
        if path.is_file() {
            visit(inside, &path)?;
        } else if !is_skipped(&inside) {
            visit_files(root, &path, visit)?;
        }
    }
    Ok(())
}

fn is_skipped(folder: &str) -> bool {
    let (parents, name) = folder.rsplit_once('/').unwrap_or(("", folder));
    let in_sources = parents.split('/').any(|parent| parent == "src");
    name.starts_with('.') || (SKIPPED_FOLDERS.contains(&name) && !in_sources)
}

fn relative(root: &Path, path: &Path) -> Result<String> {
    let inside = path
        .strip_prefix(root)
        .with_context(|| format!("{} is outside of the workspace", path.display()))?;
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

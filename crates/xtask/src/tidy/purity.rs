//! Layer 0 is values: it is told the time, and it neither waits nor reads nor rolls dice.

use serde::Deserialize;

use super::layers::{self, Place};
use super::model::{Kind, Origin, Package, Violation, Workspace};
use super::source::SourceFile;
use super::tokens;

pub(crate) const RULE: &str = "layer 0 purity";

/// Parts of the standard library that reach outside of the process or wait.
const IMPURE_STD: &[&str] = &["fs", "net", "env", "process", "thread", "os"];
/// Parts of `std::net` that are only values.
const PURE_NET: &[&str] = &[
    "IpAddr",
    "Ipv4Addr",
    "Ipv6Addr",
    "SocketAddr",
    "SocketAddrV4",
    "SocketAddrV6",
    "AddrParseError",
];
const IMPURE_CRATES: &[&str] = &["tokio", "rand", "getrandom", "async_std", "smol", "fastrand"];
/// Packages, with the features that the root manifest takes, that bring no clock, randomness, IO or
/// async of their own accord. Whoever adds one has looked.
const PURE_PACKAGES: &[&str] = &[
    "form_urlencoded",
    "jiff",
    "regex",
    "serde",
    "serde_json",
    "strsim",
    "thiserror",
    "ulid",
    "utoipa",
];
/// What a layer 0 crate's `clippy.toml` has to disallow at least.
const DISALLOWED: &[&str] = &[
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "std::thread::sleep",
    "std::path::Path::canonicalize",
    "std::path::Path::exists",
    "std::path::Path::is_dir",
    "std::path::Path::is_file",
    "std::path::Path::is_symlink",
    "std::path::Path::metadata",
    "std::path::Path::read_dir",
    "std::path::Path::read_link",
    "std::path::Path::symlink_metadata",
    "std::path::Path::try_exists",
];

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let pure = workspace.packages.iter().filter(|package| {
        layers::row(&package.name).is_some_and(|row| row.place == Place::Layer(0))
    });
    pure.flat_map(|package| {
        let sources = workspace.sources.iter().filter(|source| {
            source.is_product() && source.path.starts_with(&format!("{}/src/", package.dir))
        });
        let mut violations: Vec<Violation> = sources.flat_map(check_source).collect();
        violations.extend(check_dependencies(package));
        violations.extend(check_clippy(workspace, package));
        violations
    })
    .collect()
}

fn check_source(source: &SourceFile) -> Vec<Violation> {
    let fix = "take the value as an argument, or move the code to a higher layer";
    tokens::paths(&source.product)
        .into_iter()
        .filter(|path| is_impure(&path.value))
        .map(|path| {
            let what = format!("layer 0 names {}", path.value.join("::"));
            Violation::new(RULE, &source.path, what, fix).at(path.line)
        })
        .collect()
}

fn is_impure(path: &[String]) -> bool {
    let segments: Vec<&str> = path.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["async" | "await"] => true,
        // Under another name everything in it would go unseen.
        ["std"] | ["std", "self"] => true,
        [.., _, "stdin" | "stdout" | "stderr"] => true,
        // On whatever it is called, it asks the clock how late it is now.
        [.., "elapsed"] => true,
        ["std", "net", value, ..] if PURE_NET.contains(value) => false,
        ["std", part, ..] if IMPURE_STD.contains(part) => true,
        [name, _, ..] if IMPURE_CRATES.contains(name) => true,
        // Every clock that we know of is asked by `Type::now`.
        [.., owner, "now"] => owner.starts_with(|first: char| first.is_ascii_uppercase()),
        _ => false,
    }
}

fn check_dependencies(package: &Package) -> Vec<Violation> {
    // Our own are judged by their layer.
    let foreign = package.dependencies.iter().filter(|of| of.origin != Origin::Own);
    foreign
        .filter(|of| of.kind != Kind::Dev && !PURE_PACKAGES.contains(&of.name.as_str()))
        .map(|dependency| {
            let what = format!(
                "{} depends on {}, which is not known to be free of clock, randomness, IO and async",
                package.name, dependency.name
            );
            let fix = "do without, move what needs it to a higher layer, or look and add it to \
                       PURE_PACKAGES in crates/xtask/src/tidy/purity.rs";
            Violation::new(RULE, package.manifest(), what, fix)
        })
        .collect()
}

fn check_clippy(workspace: &Workspace, package: &Package) -> Vec<Violation> {
    let path = format!("{}/clippy.toml", package.dir);
    let fix = "list it under disallowed-methods, so that clippy sees through renames";
    let disallowed = match workspace.text(&path).map(toml::from_str::<Clippy>) {
        Some(Ok(clippy)) => clippy.disallowed_methods,
        Some(Err(error)) => {
            let what = format!("cannot be read: {}", error.message());
            return vec![Violation::new(RULE, path, what, "write disallowed-methods as a list")];
        }
        None => Vec::new(),
    };
    DISALLOWED
        .iter()
        .filter(|method| !disallowed.iter().any(|entry| entry.path() == **method))
        .map(|method| Violation::new(RULE, &path, format!("does not disallow {method}"), fix))
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Clippy {
    #[serde(default)]
    disallowed_methods: Vec<Disallowed>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Disallowed {
    Path(String),
    Explained { path: String },
}

impl Disallowed {
    fn path(&self) -> &str {
        match self {
            Self::Path(path) | Self::Explained { path } => path,
        }
    }
}

#[cfg(test)]
mod tests;

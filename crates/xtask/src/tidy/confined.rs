//! Some dependencies live in one crate only, so that the rest of the system does not know them.

use std::collections::BTreeSet;

use super::layers::{self, Place};
use super::model::{Dependency, Kind, Package, Violation, Workspace};
use super::tokens;

pub(crate) const RULE: &str = "confined dependencies";

struct Confinement {
    what: &'static str,
    /// Names of packages; a trailing `*` stands for any ending.
    names: &'static [&'static str],
    /// Features that make the dependency the confined thing; none: the package as a whole is.
    features: &'static [&'static str],
    /// Whether its default features are among those.
    by_default: bool,
    home: &'static [&'static str],
    fix: &'static str,
}

const SERVERS: &[&str] = &["palyra-daemon", "palyra-browserd", "palyra-testkit"];

/// tonic is a server and a client in one package. Its `server` feature makes the difference, which
/// `transport`, `router` and the default features bring along; a client takes
/// `default-features = false` with `channel` and `codegen`.
const CONFINEMENTS: &[Confinement] = &[
    Confinement {
        what: "a database crate",
        names: &[
            "rusqlite*",
            "libsqlite3-sys",
            "sqlite",
            "sqlite3*",
            "postgres",
            "postgres-*",
            "tokio-postgres*",
            "deadpool-*",
            "bb8*",
            "r2d2*",
            "sqlx*",
            "diesel*",
            "sea-orm*",
            "sea-query*",
            "refinery*",
            "mysql*",
            "duckdb*",
            "libsql*",
            "limbo*",
            "turso*",
            "redis*",
            "fred",
            "mongodb*",
            "surrealdb*",
            "redb",
            "sled",
            "rocksdb",
            "fjall",
            "heed*",
            "lmdb*",
            "persy",
        ],
        features: &[],
        by_default: true,
        home: &["palyra-storage"],
        fix: "go through palyra-storage, the only crate that opens a database",
    },
    Confinement {
        what: "the WASM engine",
        names: &["wasmtime*"],
        features: &[],
        by_default: true,
        home: &["palyra-plugins-runtime"],
        fix: "use the runtime's own types from palyra-plugins-runtime",
    },
    Confinement {
        what: "a Discord library",
        names: &["twilight-*", "serenity", "poise"],
        features: &[],
        by_default: true,
        home: &["palyra-connector-discord"],
        fix: "speak in envelopes; only palyra-connector-discord knows Discord",
    },
    Confinement {
        what: "an HTTP server",
        names: &[
            "axum*",
            "actix*",
            "rocket*",
            "warp",
            "poem*",
            "salvo*",
            "tiny_http",
            "rouille",
            "tide",
            "gotham",
            "ntex*",
            "jsonrpsee",
        ],
        features: &[],
        by_default: true,
        home: SERVERS,
        fix: "serve from palyra-daemon or palyra-browserd; in tests take the testkit's servers",
    },
    Confinement {
        what: "an HTTP server",
        names: &["hyper", "hyper-util"],
        features: &["server", "server-auto", "server-graceful", "full"],
        by_default: false,
        home: SERVERS,
        fix: "leave the server features off, or serve from palyra-daemon or palyra-browserd",
    },
    Confinement {
        what: "a gRPC server",
        names: &["tonic"],
        features: &["server", "router", "transport"],
        by_default: true,
        home: SERVERS,
        fix: "a client takes default-features = false with channel and codegen",
    },
    Confinement {
        what: "a gRPC server",
        names: &["tonic-reflection", "tonic-health", "tonic-web"],
        features: &[],
        by_default: true,
        home: SERVERS,
        fix: "serve from palyra-daemon or palyra-browserd",
    },
    Confinement {
        what: "gRPC",
        names: &["tonic"],
        features: &[],
        by_default: true,
        home: &["palyra-daemon", "palyra-browserd", "palyra-testkit", "palyra-client"],
        fix: "call the daemon through palyra-client",
    },
    Confinement {
        what: "the policy engine",
        names: &["cedar-*"],
        features: &[],
        by_default: true,
        home: &["palyra-authz"],
        fix: "ask palyra-authz for the decision",
    },
    Confinement {
        what: "the browser driver",
        names: &["chromiumoxide*", "headless_chrome", "fantoccini", "thirtyfour"],
        features: &[],
        by_default: true,
        home: &["palyra-browserd"],
        fix: "drive the browser through palyra-browserd",
    },
];

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let packages = workspace.packages.iter();
    packages.flat_map(|of| [check_package(of), handed_on(workspace, of)].concat()).collect()
}

/// Whose benches measure the raw thing beside ours, for which they need it.
const MEASURED_BESIDE: &[(&str, &[&str])] = &[("palyra-gateway", &["rusqlite", "tokio-postgres"])];

fn is_measured_beside(package: &Package, dependency: &Dependency) -> bool {
    dependency.kind == Kind::Dev
        && MEASURED_BESIDE
            .iter()
            .any(|(name, raw)| *name == package.name && raw.contains(&dependency.name.as_str()))
}

fn check_package(package: &Package) -> Vec<Violation> {
    let known = |dependency: &&Dependency| !is_measured_beside(package, dependency);
    let escaped = package.dependencies.iter().filter(known).filter_map(|dependency| {
        let broken = CONFINEMENTS.iter().find(|confinement| {
            confinement.covers(dependency) && !confinement.home.contains(&package.name.as_str())
        })?;
        let what = format!(
            "{} depends on {}, {} that belongs in {}",
            package.name,
            dependency.name,
            broken.what,
            broken.home.join(", "),
        );
        Some(Violation::new(RULE, package.manifest(), what, broken.fix))
    });
    let testkit = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.name == "palyra-testkit" && dependency.kind != Kind::Dev)
        .map(|_| {
            let what = format!("{} ships palyra-testkit", package.name);
            Violation::new(RULE, package.manifest(), what, "move it to [dev-dependencies]")
        });
    escaped.chain(testkit).chain(untyped_errors(package)).collect()
}

/// A type of a confined crate in the hands of others is as good as a dependency of theirs.
fn handed_on(workspace: &Workspace, package: &Package) -> Vec<Violation> {
    let confined = package
        .dependencies
        .iter()
        .filter(|dependency| CONFINEMENTS.iter().any(|confinement| confinement.covers(dependency)));
    let names: BTreeSet<String> = confined.map(|of| of.name.replace('-', "_")).collect();
    let folder = format!("{}/src/", package.dir);
    let own = workspace.sources.iter().filter(|of| of.is_product() && of.path.starts_with(&folder));
    let mut violations = Vec::new();
    for source in own {
        for path in tokens::handed_on(&source.product) {
            let Some(name) = path.value.first().filter(|first| names.contains(*first)) else {
                continue;
            };
            let what = format!("hands {name} on to other crates");
            let fix = "give them a type of our own, or keep it to the crate with pub(crate)";
            violations.push(Violation::new(RULE, &source.path, what, fix).at(path.line));
        }
    }
    violations.dedup();
    violations
}

/// What tests and tools link may tell its failures as it likes.
fn untyped_errors(package: &Package) -> Option<Violation> {
    let place = layers::row(&package.name).map(|row| row.place);
    if !package.is_library || matches!(place, Some(Place::Tests | Place::Tools)) {
        return None;
    }
    let ships = |of: &Dependency| of.name == "anyhow" && of.kind == Kind::Normal;
    package.dependencies.iter().any(ships).then(|| {
        let what = format!("{} is a library and ships anyhow", package.name);
        let fix = "give its errors types with thiserror, so that callers can tell them apart";
        Violation::new(RULE, package.manifest(), what, fix)
    })
}

impl Confinement {
    fn covers(&self, dependency: &Dependency) -> bool {
        let named = self.names.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => dependency.name.starts_with(start),
            None => dependency.name == *name,
        });
        named && (self.features.is_empty() || self.is_switched_on(dependency))
    }

    fn is_switched_on(&self, dependency: &Dependency) -> bool {
        let named = |feature: &String| self.features.contains(&feature.as_str());
        (self.by_default && dependency.default_features) || dependency.features.iter().any(named)
    }
}

#[cfg(test)]
mod tests;

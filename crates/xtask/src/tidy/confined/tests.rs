use super::*;
use crate::tidy::workbench::{foreign, lines, own};

fn check_one(name: &str, dependency: Dependency, expected: &[&str]) {
    let workspace = Workspace::empty().with_package(name, &[dependency]);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn every_confined_dependency_is_at_home_only_in_its_home() {
    for confinement in CONFINEMENTS {
        for pattern in confinement.names {
            let switched_on = confinement.features.first().map(std::slice::from_ref);
            let dependency = foreign(&pattern.replace('*', ""))
                .kind(Kind::Dev)
                .only(switched_on.unwrap_or_default());
            for home in confinement.home {
                check_one(home, dependency.clone(), &[]);
            }
            let away = Workspace::empty().with_package("palyra-control-plane", &[dependency]);
            let found = check(&away);
            assert_eq!(found.len(), 1, "{pattern} is not confined");
            assert!(found[0].what.starts_with("palyra-control-plane depends on"));
        }
    }
}

#[test]
fn a_violation_says_where_the_dependency_belongs() {
    check_one(
        "palyra-gateway",
        foreign("rusqlite"),
        &[
            "crates/palyra-gateway/Cargo.toml: palyra-gateway depends on rusqlite, a database crate \
           that belongs in palyra-storage",
        ],
    );
    check_one(
        "palyra-gateway",
        foreign("wasmtime-wasi").kind(Kind::Dev),
        &["crates/palyra-gateway/Cargo.toml: palyra-gateway depends on wasmtime-wasi, the WASM \
           engine that belongs in palyra-plugins-runtime"],
    );
}

#[test]
fn databases_and_servers_are_known_by_name() {
    for name in [
        "duckdb",
        "libsql",
        "turso",
        "redis",
        "fred",
        "mongodb",
        "heed",
        "fjall",
        "sled",
        "tiny_http",
        "rouille",
        "tide",
        "gotham",
        "ntex",
        "actix-web",
        "warp",
        "rocket",
        "jsonrpsee",
    ] {
        let workspace = Workspace::empty().with_package("palyra-gateway", &[foreign(name)]);
        assert_eq!(check(&workspace).len(), 1, "{name} is not confined");
    }
}

#[test]
fn what_is_confined_is_not_handed_on() {
    let path = "crates/palyra-storage/src/database.rs";
    let check_text = |text: &str, expected: &[&str]| {
        let raw = [foreign("rusqlite"), foreign("tokio-postgres")];
        let workspace =
            Workspace::empty().with_package("palyra-storage", &raw).with_source(path, text);
        assert_eq!(lines(&check(&workspace)), expected);
    };
    for (text, name) in [
        ("pub use rusqlite;", "rusqlite"),
        ("pub use rusqlite::{Connection, Row};", "rusqlite"),
        ("pub mod raw { pub use ::tokio_postgres::Client; }", "tokio_postgres"),
        ("pub extern crate rusqlite as raw;", "rusqlite"),
        ("pub type Raw = rusqlite::Connection;", "rusqlite"),
    ] {
        check_text(text, &[&format!("{path}:1: hands {name} on to other crates")]);
    }
    check_text("pub(crate) use rusqlite::Connection;\nuse tokio_postgres::Client;", &[]);
    check_text("pub use postgres::Engine;\npub type Rows = Vec<Row>;", &[]);
}

#[test]
fn names_that_only_look_alike_are_free() {
    check_one("palyra-gateway", foreign("deadpool"), &[]);
    check_one("palyra-gateway", foreign("tower-http"), &[]);
    check_one("palyra-gateway", foreign("postgresql_embedded"), &[]);
}

#[test]
fn a_grpc_client_is_told_from_a_server_by_its_features() {
    let server = "crates/palyra-client/Cargo.toml: palyra-client depends on tonic, a gRPC server \
                  that belongs in palyra-daemon, palyra-browserd, palyra-testkit";
    check_one("palyra-client", foreign("tonic").only(&["channel", "codegen"]), &[]);
    check_one("palyra-client", foreign("tonic"), &[server]);
    check_one("palyra-client", foreign("tonic").only(&["transport"]), &[server]);
    check_one("palyra-daemon", foreign("tonic"), &[]);
    check_one(
        "palyra-gateway",
        foreign("tonic").only(&["channel"]),
        &[
            "crates/palyra-gateway/Cargo.toml: palyra-gateway depends on tonic, gRPC that belongs in \
           palyra-daemon, palyra-browserd, palyra-testkit, palyra-client",
        ],
    );
}

#[test]
fn hyper_is_a_server_only_with_its_server_features() {
    check_one("palyra-net", foreign("hyper").only(&["client", "http1"]), &[]);
    check_one("palyra-net", foreign("hyper-util"), &[]);
    check_one(
        "palyra-net",
        foreign("hyper").only(&["client", "server"]),
        &[
            "crates/palyra-net/Cargo.toml: palyra-net depends on hyper, an HTTP server that belongs \
           in palyra-daemon, palyra-browserd, palyra-testkit",
        ],
    );
}

#[test]
fn the_testkit_is_for_tests() {
    check_one("palyra-storage", own("palyra-testkit").kind(Kind::Dev), &[]);
    for kind in [Kind::Normal, Kind::Build] {
        check_one(
            "palyra-storage",
            own("palyra-testkit").kind(kind),
            &["crates/palyra-storage/Cargo.toml: palyra-storage ships palyra-testkit"],
        );
    }
}

#[test]
fn a_bench_may_measure_the_raw_thing_and_nothing_that_ships_may_have_it() {
    check_one("palyra-gateway", foreign("rusqlite").kind(Kind::Dev), &[]);
    let shipped = Workspace::empty().with_package("palyra-gateway", &[foreign("rusqlite")]);
    assert_eq!(check(&shipped).len(), 1);
    let other = foreign("rusqlite").kind(Kind::Dev);
    assert_eq!(check(&Workspace::empty().with_package("palyra-identity", &[other])).len(), 1);
}

#[test]
fn a_library_has_typed_errors() {
    let check_library = |name: &str, kind: Kind, expected: &[&str]| {
        let mut workspace = Workspace::empty().with_package(name, &[foreign("anyhow").kind(kind)]);
        workspace.packages[0].is_library = true;
        assert_eq!(lines(&check(&workspace)), expected);
    };
    check_library("palyra-testkit", Kind::Normal, &[]);
    check_library("palyra-gateway", Kind::Dev, &[]);
    check_one("palyra-daemon", foreign("anyhow"), &[]);
    check_library(
        "palyra-gateway",
        Kind::Normal,
        &["crates/palyra-gateway/Cargo.toml: palyra-gateway is a library and ships anyhow"],
    );
}

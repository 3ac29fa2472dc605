use super::*;
use crate::tidy::model::Dependency;
use crate::tidy::workbench::{foreign, lines};

const CLIPPY: &str = r#"
disallowed-methods = [
    { path = "std::time::SystemTime::now", reason = "told" },
    { path = "std::time::Instant::now" },
    "std::thread::sleep",
]
"#;

fn common(dependencies: &[Dependency]) -> Workspace {
    Workspace::empty()
        .with_package("palyra-common", dependencies)
        .with_text("crates/palyra-common/clippy.toml", CLIPPY)
}

fn check_source_text(text: &str, expected: &[&str]) {
    let workspace = common(&[]).with_source("crates/palyra-common/src/time.rs", text);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn values_are_welcome() {
    check_source_text(
        "use std::{net::IpAddr, time::Duration};\nfn due(now: Timestamp, rand: u64) -> Timestamp { now + wait }\n\
         const ROOT: &str = env!(\"CARGO_MANIFEST_DIR\");\n\
         #[cfg(test)]\nmod tests { fn now() { std::time::Instant::now(); } }\n",
        &[],
    );
}

#[test]
fn clock_randomness_io_and_async_are_named() {
    for (text, named) in [
        ("fn f() { SystemTime::now() }", "SystemTime::now"),
        ("fn f() { std::time::Instant::now() }", "std::time::Instant::now"),
        ("fn f() { jiff::Timestamp::now() }", "jiff::Timestamp::now"),
        ("fn f() { write!(x, \"{}\", Zoned::now()) }", "Zoned::now"),
        ("use std::fs;", "std::fs"),
        ("use std::{fmt, net::TcpStream};", "std::net::TcpStream"),
        ("fn f() { std::env::var(\"HOME\") }", "std::env::var"),
        ("fn f() { std::process::exit(1) }", "std::process::exit"),
        ("fn f() { std::thread::sleep(wait) }", "std::thread::sleep"),
        ("use tokio::sync::mpsc;", "tokio::sync::mpsc"),
        ("fn f() { rand::random::<u64>() }", "rand::random"),
        ("fn f() { getrandom::fill(&mut bytes) }", "getrandom::fill"),
        ("use std as s;", "std"),
        ("use std::{self as s};", "std::self"),
        ("extern crate std as s;", "std"),
        ("fn f() { std::io::stdin() }", "std::io::stdin"),
        ("fn f() { io::stdout() }", "io::stdout"),
        ("use std::io::{self, stderr};", "std::io::stderr"),
        ("fn f() { UNIX_EPOCH.elapsed() }", "elapsed"),
        ("async fn f() {}", "async"),
        ("macro_rules! f { () => { later.await } }", "await"),
    ] {
        let expected = format!("crates/palyra-common/src/time.rs:1: layer 0 names {named}");
        check_source_text(text, &[&expected]);
    }
}

#[test]
fn only_the_shipped_sources_of_layer_0_are_bound() {
    let clock = "fn f() { SystemTime::now() }";
    for path in ["crates/palyra-common/tests/it/main.rs", "crates/palyra-storage/src/clock.rs"] {
        let workspace = common(&[]).with_package("palyra-storage", &[]).with_source(path, clock);
        assert_eq!(lines(&check(&workspace)), [""; 0], "{path}");
    }
}

#[test]
fn impure_packages_are_refused() {
    assert_eq!(
        lines(&check(&common(&[foreign("ulid"), foreign("tokio").kind(Kind::Dev)]))),
        [""; 0]
    );
    assert_eq!(
        lines(&check(&common(&[foreign("tokio-util")]))),
        ["crates/palyra-common/Cargo.toml: palyra-common depends on tokio-util, which brings a \
          clock, randomness, IO or async"],
    );
}

#[test]
fn clippy_disallows_the_clock() {
    let missing = |text: Option<&str>| {
        let workspace = Workspace::empty().with_package("palyra-common", &[]);
        let workspace = match text {
            Some(text) => workspace.with_text("crates/palyra-common/clippy.toml", text),
            None => workspace,
        };
        lines(&check(&workspace))
    };
    assert_eq!(missing(None).len(), DISALLOWED.len());
    assert_eq!(
        missing(Some(&CLIPPY.replace("std::thread::sleep", "std::thread::yield_now"))),
        ["crates/palyra-common/clippy.toml: does not disallow std::thread::sleep"],
    );
    assert_eq!(
        missing(Some("disallowed-methods = 1")),
        [
            "crates/palyra-common/clippy.toml: cannot be read: invalid type: integer `1`, expected a \
          sequence"
        ],
    );
}

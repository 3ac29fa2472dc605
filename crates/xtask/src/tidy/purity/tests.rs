use super::*;
use crate::tidy::model::Dependency;
use crate::tidy::workbench::{foreign, lines, own};

/// The file of palyra-common itself.
const CLIPPY: &str = include_str!("../../../../palyra-common/clippy.toml");

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
fn only_packages_known_to_be_pure_are_linked() {
    let told = |dependency| lines(&check(&common(&[dependency])));
    for dependency in [foreign("ulid"), own("palyra-policy"), foreign("tokio").kind(Kind::Dev)] {
        assert_eq!(told(dependency), [""; 0]);
    }
    for name in ["chrono", "uuid", "rand", "getrandom", "time", "tokio-util"] {
        let said = format!(
            "crates/palyra-common/Cargo.toml: palyra-common depends on {name}, which is not known \
             to be free of clock, randomness, IO and async"
        );
        assert_eq!(told(foreign(name)), [said.as_str()]);
        assert_eq!(told(foreign(name).kind(Kind::Build)), [said]);
    }
}

#[test]
fn clippy_disallows_the_clock_and_asking_the_disk() {
    let missing = |text: Option<&str>| {
        let workspace = Workspace::empty().with_package("palyra-common", &[]);
        let workspace = match text {
            Some(text) => workspace.with_text("crates/palyra-common/clippy.toml", text),
            None => workspace,
        };
        lines(&check(&workspace))
    };
    assert_eq!(missing(None).len(), DISALLOWED.len());
    for method in DISALLOWED {
        assert_eq!(
            missing(Some(&CLIPPY.replace(&format!("\"{method}\""), "\"std::mem::drop\""))),
            [format!("crates/palyra-common/clippy.toml: does not disallow {method}")],
        );
    }
    let plain: Vec<String> = DISALLOWED.iter().map(|method| format!("{method:?}")).collect();
    let plain = format!("disallowed-methods = [{}]", plain.join(", "));
    assert_eq!(missing(Some(&plain)), [""; 0]);
    assert_eq!(
        missing(Some("disallowed-methods = 1")),
        [
            "crates/palyra-common/clippy.toml: cannot be read: invalid type: integer `1`, expected a \
          sequence"
        ],
    );
}

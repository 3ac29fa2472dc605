use std::collections::BTreeSet;

use crate::fixture::Fixture;

struct Plant {
    rule: &'static str,
    what: &'static str,
    plant: fn(&Fixture),
}

const COMMON: &str = "crates/palyra-common/Cargo.toml";
const STORAGE: &str = "crates/palyra-storage/Cargo.toml";
const LANE: &str = "crates/palyra-common/src/lane.rs";

const PLANTS: &[Plant] = &[
    Plant {
        rule: "layers",
        what: "palyra-common (layer 0) depends on palyra-storage (layer 1)",
        plant: |fixture| {
            fixture.replace(STORAGE, "palyra-common = { path = \"../palyra-common\" }\n", "");
            let upward = "[dependencies]\npalyra-storage = { path = \"../palyra-storage\" }";
            fixture.replace(COMMON, "[dependencies]", upward);
        },
    },
    Plant {
        rule: "layers",
        what: "palyra-extra has no layer",
        plant: |fixture| {
            let manifest = fixture.read(COMMON).replace("palyra-common", "palyra-extra");
            fixture.write("crates/palyra-extra/Cargo.toml", &manifest);
            fixture.write("crates/palyra-extra/src/lib.rs", "#![warn(missing_docs)]\n");
        },
    },
    Plant {
        rule: "layers",
        what: "ARCHITECTURE.md: palyra-storage has no row in the table of crates",
        plant: |fixture| fixture.replace("ARCHITECTURE.md", "`palyra-storage`", "storage"),
    },
    Plant {
        rule: "confined dependencies",
        what: "palyra-common depends on rusqlite, a database crate that belongs in palyra-storage",
        plant: |fixture| {
            fixture.replace(COMMON, "[dependencies]", "[dev-dependencies]\nrusqlite = \"0.41\"");
            fixture.append("docs/dependencies.md", "| `rusqlite` | `palyra-common` | rows |\n");
        },
    },
    Plant {
        rule: "confined dependencies",
        what: "palyra-storage depends on tonic, a gRPC server that belongs in",
        plant: |fixture| {
            let features = "[features]\nserve = [\"tonic/server\"]\n[dependencies]\n\
                            tonic = { version = \"0.14\", default-features = false }";
            fixture.replace(STORAGE, "[dependencies]", features);
            fixture.append("docs/dependencies.md", "| `tonic` | `palyra-storage` | calls |\n");
        },
    },
    Plant {
        rule: "confined dependencies",
        what: "store.rs:5: hands rusqlite on to other crates",
        plant: |fixture| {
            fixture.replace(STORAGE, "[dependencies]", "[dependencies]\nrusqlite = \"0.41\"");
            fixture.append("docs/dependencies.md", "| `rusqlite` | `palyra-storage` | rows |\n");
            fixture.append("crates/palyra-storage/src/store.rs", "pub use rusqlite::Connection;\n");
        },
    },
    Plant {
        rule: "confined dependencies",
        what: "palyra-storage is a library and ships anyhow",
        plant: |fixture| {
            fixture.replace(STORAGE, "[dependencies]", "[dependencies]\nanyhow = \"1\"");
            fixture.append("docs/dependencies.md", "| `anyhow` | `palyra-storage` | ease |\n");
        },
    },
    Plant {
        rule: "sql text",
        what: "lib.rs:3: SQL outside of a store module: \"DELETE FROM outbox\"",
        plant: |fixture| {
            let text = "#[doc(alias = \"DELETE FROM outbox\")] mod y;\n";
            let lib = format!("#![warn(missing_docs)]\n\n{text}");
            fixture.write("crates/palyra-storage/src/lib.rs", &lib);
        },
    },
    Plant {
        rule: "sql text",
        what: "src/tests.rs:1: SQL outside of a store module: \"DELETE FROM outbox\"",
        plant: |fixture| {
            fixture.append("crates/palyra-common/src/lib.rs", "mod tests;\n");
            let text = "const SWEEP: &str = \"DELETE FROM outbox\";\n";
            fixture.write("crates/palyra-common/src/tests.rs", text);
        },
    },
    Plant {
        rule: "sql text",
        what: "lane.rs:5: sql! outside of a store module",
        plant: |fixture| fixture.append(LANE, "const A: Sql = sql!(include_str!(\"a.txt\"));\n"),
    },
    Plant {
        rule: "sql text",
        what: "lane/store/rows.rs:1: SQL outside of a store module: \"DELETE FROM outbox\"",
        plant: |fixture| {
            let text = "const SWEEP: &str = \"DELETE FROM outbox\";\n";
            fixture.write("crates/palyra-common/src/lane/store/rows.rs", text);
        },
    },
    Plant {
        rule: "in sight",
        what: "lane.rs: says @generated, but codegen does not write it",
        plant: |fixture| fixture.replace(LANE, "/// When", "// @generated\n/// When"),
    },
    Plant {
        rule: "in sight",
        what: "lane.rs:5: include! brings in code that nothing looks at",
        plant: |fixture| fixture.append(LANE, "include!(\"lanes.in\");\n"),
    },
    Plant {
        rule: "in sight",
        what: "lane.rs:5: #[path] hides where a module is",
        plant: |fixture| fixture.append(LANE, "#[path = \"lanes.in\"]\nmod lanes;\n"),
    },
    Plant {
        rule: "strictness",
        what: "lane.rs:5: silences unwrap_used in product code",
        plant: |fixture| fixture.append(LANE, "#[allow(clippy::unwrap_used)]\nfn hasty() {}\n"),
    },
    Plant {
        rule: "strictness",
        what: "Cargo.toml: [workspace.lints.clippy] has unwrap_used below \"warn\"",
        plant: |fixture| {
            fixture.replace("Cargo.toml", "unwrap_used = \"warn\"", "unwrap_used = \"allow\"");
        },
    },
    Plant {
        rule: "strictness",
        what: "palyra-common/src/lib.rs: a library crate without #![warn(missing_docs)]",
        plant: |fixture| {
            fixture.replace("crates/palyra-common/src/lib.rs", "#![warn(missing_docs)]", "");
        },
    },
    Plant {
        rule: "length",
        what: "lane.rs:5: function long has 61 lines, 60 are allowed",
        plant: |fixture| {
            fixture.append(LANE, &format!("fn long() {{\n{}}}\n", "    due(1, 2);\n".repeat(59)));
        },
    },
    Plant {
        rule: "length",
        what: "tidy-exceptions.toml: lists 1, but the list only shrinks, and is at 0",
        plant: |fixture| {
            let long = format!("fn long() {{\n{}}}\n", "    due(1, 2);\n".repeat(59));
            fixture.append(LANE, &long);
            let exception = format!(
                "[[exception]]\npath = {LANE:?}\nfunction = \"long\"\nlines = 61\nreason = \"old\"\n"
            );
            fixture.write("crates/xtask/tidy-exceptions.toml", &exception);
        },
    },
    Plant {
        rule: "layer 0 purity",
        what: "lane.rs:6: layer 0 names std::time::SystemTime::now",
        plant: |fixture| {
            fixture.append(LANE, "fn clock() {\n    std::time::SystemTime::now();\n}\n");
        },
    },
    Plant {
        rule: "layer 0 purity",
        what: "palyra-common depends on chrono, which is not known to be free of clock",
        plant: |fixture| {
            fixture.replace(COMMON, "[dependencies]", "[dependencies]\nchrono = \"0.4\"");
            fixture.append("docs/dependencies.md", "| `chrono` | `palyra-common` | dates |\n");
        },
    },
    Plant {
        rule: "layer 0 purity",
        what: "clippy.toml: does not disallow std::path::Path::is_file",
        plant: |fixture| {
            let clippy = "crates/palyra-common/clippy.toml";
            fixture.replace(clippy, "std::path::Path::is_file", "std::mem::drop");
        },
    },
    Plant {
        rule: "error codes",
        what: "explains storage/planted, which is not in the registry",
        plant: |fixture| fixture.append("docs/errors.md", "## `storage/planted`\n"),
    },
    Plant {
        rule: "config options",
        what: "config.rs:8: option storage.planted is not in docs/palyra.example.toml",
        plant: |fixture| {
            let config = "crates/palyra-storage/src/config.rs";
            fixture.replace(config, "url: String,", "url: String,\n    planted: bool,");
        },
    },
    Plant {
        rule: "dependencies",
        what: "bytes (used by palyra-storage) has no row",
        plant: |fixture| {
            fixture.replace(STORAGE, "[dependencies]", "[dependencies]\nbytes = \"1\"");
        },
    },
    Plant {
        rule: "hygiene",
        what: "Cargo.toml: does not take the lints of the workspace",
        plant: |fixture| fixture.replace(COMMON, "[lints]\nworkspace = true", ""),
    },
    Plant {
        rule: "hygiene",
        what: "tools/palyra-net/Cargo.toml: is outside of crates/, where nothing looks",
        plant: |fixture| {
            let manifest = fixture.read(COMMON).replace("palyra-common", "palyra-net");
            fixture.write("tools/palyra-net/Cargo.toml", &manifest);
            fixture.write("tools/palyra-net/src/main.rs", "fn main() {}\n");
            fixture.append("ARCHITECTURE.md", "| 1 ground | `palyra-net` | calls |\n");
            fixture.replace("Cargo.toml", "[\"crates/palyra-*\"]", "[\"crates/*\", \"tools/*\"]");
        },
    },
    Plant {
        rule: "hygiene",
        what: "Cargo.toml: could be published",
        plant: |fixture| fixture.replace(COMMON, "publish.workspace = true\n", ""),
    },
    Plant {
        rule: "hygiene",
        what: "a file or folder named utils says nothing",
        plant: |fixture| fixture.write("crates/palyra-common/src/utils.rs", ""),
    },
    Plant {
        rule: "hygiene",
        what: "crates/palyra-common/src/target/misc.rs: a file or folder named misc says nothing",
        plant: |fixture| fixture.write("crates/palyra-common/src/target/misc.rs", ""),
    },
];

#[test]
fn a_clean_workspace_is_green() {
    let run = Fixture::new().xtask(&["tidy"], &[]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.errors);
    assert!(run.out.ends_with("files, no violations\n"), "{}", run.out);
}

#[test]
fn what_is_built_or_not_ours_is_left_alone() {
    let fixture = Fixture::new();
    for folder in ["target", "tests/fixtures", ".cache"] {
        fixture.write(&format!("crates/palyra-common/{folder}/misc.rs"), "not even Rust {");
    }
    let run = fixture.xtask(&["tidy"], &[]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.errors);
}

#[test]
fn every_planted_violation_turns_it_red_and_is_the_only_one() {
    for plant in PLANTS {
        let fixture = Fixture::new();
        (plant.plant)(&fixture);
        let run = fixture.xtask(&["tidy"], &[]);
        assert_eq!(run.code, Some(1), "{}: {}{}", plant.what, run.out, run.errors);
        assert!(run.out.starts_with(&format!("{}\n", plant.rule)), "{}", run.out);
        assert!(run.out.contains(plant.what), "{}: {}", plant.what, run.out);
        assert!(run.out.ends_with(" files, 1 violation\n"), "{}", run.out);
    }
}

#[test]
fn every_rule_is_planted() {
    let rules: BTreeSet<&str> = PLANTS.iter().map(|plant| plant.rule).collect();
    let run = Fixture::new().xtask(&["tidy"], &[]);
    let count = format!("tidy: {} rules, ", rules.len());
    assert!(run.out.starts_with(&count), "planted {rules:?}, but {}", run.out);
}

#[test]
fn what_is_not_understood_is_refused() {
    let run = Fixture::new().xtask(&["tidy", "--fast"], &[("RUST_BACKTRACE", "1")]);
    assert_eq!(run.code, Some(1));
    assert!(run.errors.starts_with("error: unknown arguments: tidy --fast\n"), "{}", run.errors);
    assert!(!run.errors.contains("backtrace"), "{}", run.errors);
}

#[cfg(unix)]
#[test]
fn words_that_are_no_text_are_refused_like_others() {
    let word: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_xtask")).arg(word).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: unknown arguments: \u{fffd}\n"), "{told}");
}

//! `scripts/bootstrap` on machines made of stubs: a folder of small scripts is all of the `PATH`.

mod machine;

use std::fs;

use machine::Machine;

#[test]
fn a_complete_machine_needs_nothing() {
    let machine = Machine::complete().with_manager("apt-get");
    for what in ["run", "test", "check", "bench", "chaos", "fmt", "deny"] {
        let run = machine.bootstrap(what);
        assert_eq!((run.code, run.said.as_str()), (Some(0), ""), "{what}");
        assert_eq!(run.changes, [""; 0], "{what}");
    }
}

#[test]
fn a_target_needs_only_its_own_tools() {
    let machine = Machine::complete().without("bin/cc").without_postgres();
    assert_eq!(machine.bootstrap("fmt").code, Some(0));
    assert_eq!(machine.bootstrap("run").code, Some(1));
}

#[test]
fn node_is_needed_where_there_is_a_console_to_check() {
    for what in ["run", "test", "check", "bench", "chaos", "fmt", "deny"] {
        let run = Machine::complete().without("bin/node").bootstrap(what);
        assert_eq!((run.code, run.said.as_str()), (Some(0), ""), "{what}");
    }
    let machine = Machine::complete().with_console().without("bin/node");
    for (what, code) in [("run", 0), ("chaos", 0), ("check", 1), ("test", 1)] {
        assert_eq!(machine.bootstrap(what).code, Some(code), "{what}");
    }
}

#[test]
fn what_checks_licences_is_installed() {
    let run = Machine::complete().without("bin/cargo-deny").bootstrap("deny");
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(run.changes, ["cargo install cargo-deny --locked"]);
}

#[test]
fn an_unknown_target_is_refused() {
    let run = Machine::complete().bootstrap("everything");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.said,
        "bootstrap: usage: scripts/bootstrap run|test|check|bench|chaos|fmt|deny\n"
    );
}

#[test]
fn rust_is_asked_for() {
    let run = Machine::complete().without("bin/rustc").with_manager("apt-get").bootstrap("fmt");
    assert_eq!(run.code, Some(1));
    assert!(run.said.ends_with("or newer is missing; install it from https://rustup.rs\n"));
    assert_eq!(run.changes, [""; 0]);

    let machine = Machine::complete();
    machine.stub("bin/rustc", "echo 'rustc 1.9.0 (0000000 2016-05-18)'");
    let run = machine.bootstrap("fmt");
    assert_eq!(run.code, Some(1));
    assert!(run.said.starts_with("bootstrap: Rust 1.9.0 is too old, "), "{}", run.said);
    assert!(run.said.ends_with("is needed; run: rustup update stable\n"), "{}", run.said);
}

#[test]
fn missing_parts_of_the_toolchain_are_added() {
    let machine = Machine::complete().without("bin/cargo-clippy").without("bin/cargo-nextest");
    machine.stub("bin/rustup", "");
    let run = machine.bootstrap("check");
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(
        run.changes,
        ["rustup component add clippy", "cargo install cargo-nextest --locked"],
    );
    assert_eq!(
        run.said,
        "bootstrap: clippy is missing; running: rustup component add clippy\n\
         bootstrap: cargo-nextest is missing; running: cargo install cargo-nextest --locked\n",
    );
}

#[test]
fn a_compiler_is_installed_and_announced_first() {
    let machine = Machine::complete().without("bin/cc").with_manager("apt-get");
    let run = machine.bootstrap("run");
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(
        run.said,
        "bootstrap: a C compiler is missing; installing it with apt-get\n\
         bootstrap: running: apt-get update -qq\n\
         bootstrap: running: env DEBIAN_FRONTEND=noninteractive apt-get install -y \
         --no-install-recommends gcc libc6-dev\n",
    );
    let install = "apt-get install -y --no-install-recommends gcc libc6-dev";
    assert_eq!(run.changes, ["apt-get update -qq", install]);
}

#[test]
fn an_install_that_brings_nothing_is_a_failure() {
    let machine = Machine::complete().without("bin/cc");
    machine.stub("bin/dnf", "exit 1");
    let run = machine.bootstrap("run");
    assert_eq!(run.code, Some(1));
    assert!(run.said.ends_with("; install gcc or clang (on macOS: xcode-select --install)\n"));
}

#[test]
fn without_root_sudo_is_used_and_asks_nothing_without_a_terminal() {
    let machine = Machine::complete().without("bin/cc").with_manager("dnf");
    machine.stub("bin/id", "echo 1000");
    let run = machine.bootstrap("run");
    assert_eq!(run.code, Some(1));
    assert!(
        run.said
            .ends_with("this needs root and there is no sudo; run as root: dnf install -y gcc\n"),
        "{}",
        run.said,
    );

    machine.stub("bin/sudo", "shift; exec \"$@\"");
    let run = machine.bootstrap("run");
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(run.changes, ["sudo -n dnf install -y gcc", "dnf install -y gcc"]);
    assert!(run.said.ends_with("bootstrap: running: sudo -n dnf install -y gcc\n"), "{}", run.said);
}

#[test]
fn debian_is_told_not_to_start_a_server_of_its_own() {
    let machine = Machine::complete().without_postgres().with_manager("apt-get");
    let run = machine.bootstrap("test");
    assert_eq!(run.code, Some(0), "{}", run.said);
    let install = "apt-get install -y --no-install-recommends postgresql";
    assert_eq!(run.changes, ["apt-get update -qq", install, "seen: create_main_cluster = false"]);
    assert!(!machine.path("system/etc/postgresql-common/createcluster.d/palyra.conf").exists());
}

#[test]
fn what_the_shared_server_of_the_tests_needs_is_installed_with_it() {
    let machine = Machine::complete().without("bin/flock").with_manager("dnf");
    let run = machine.bootstrap("test");
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(run.changes, ["dnf install -y util-linux"]);
    let run = Machine::complete().without("bin/flock").bootstrap("test");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.said, "bootstrap: flock is missing; install util-linux\n");
}

#[test]
fn every_package_manager_is_called_its_own_way() {
    for (manager, expected) in [
        ("dnf", "dnf install -y postgresql-server"),
        ("pacman", "pacman -S --noconfirm --needed postgresql"),
        ("zypper", "zypper --non-interactive install postgresql-server"),
        ("apk", "apk add postgresql postgresql-client"),
        ("brew", "brew install postgresql@17"),
    ] {
        let machine = Machine::complete().without_postgres().with_manager(manager);
        let run = machine.bootstrap("chaos");
        assert_eq!(run.code, Some(0), "{manager}: {}", run.said);
        assert_eq!(run.changes, [expected]);
        assert!(run.said.contains(&format!("running: {expected}\n")), "{}", run.said);
    }
}

#[test]
fn without_a_package_manager_the_message_says_what_to_install() {
    let run = Machine::complete().without_postgres().bootstrap("bench");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.said,
        "bootstrap: the Postgres server programs (initdb, postgres, psql) are missing; install \
         Postgres 15 or newer, or set PALYRA_POSTGRES_BIN to their folder\n",
    );
    let run = Machine::complete().with_console().without("bin/node").bootstrap("check");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.said,
        "bootstrap: Node.js 20 or newer is missing; see https://nodejs.org/en/download\n",
    );
}

#[test]
fn environments_of_python_are_installed_outside_of_the_repository() {
    for (what, folder) in [
        ("schemathesis", Machine::schemathesis as fn(&Machine) -> _),
        ("model-sdks", Machine::model_sdks),
        ("grpc-clients", Machine::grpc_clients),
    ] {
        let machine = Machine::complete();
        let folder = folder(&machine);
        let name = folder.file_name().unwrap().to_str().unwrap();
        let machine = machine.without(&format!("home/.cache/palyra/{name}"));
        assert_eq!(machine.bootstrap("chaos").changes, [""; 0]);
        fs::write(machine.path("offline"), "").unwrap();
        let run = machine.bootstrap("test");
        assert_eq!(run.code, Some(1), "{}", run.said);
        fs::remove_file(machine.path("offline")).unwrap();
        // What was begun is not taken for done.
        let run = machine.bootstrap("test");
        assert_eq!(run.code, Some(0), "{}", run.said);
        let packages = machine.path(&format!("repository/scripts/{what}.txt"));
        let install = format!(
            "python3 -m pip install --quiet --disable-pip-version-check --requirement {}",
            packages.display()
        );
        assert_eq!(run.changes, [format!("python3 -m venv {}", folder.display()), install]);
        let told = format!(
            "bootstrap: {what} is missing; installing it from PyPI into {}\n",
            folder.display()
        );
        assert_eq!(run.said, told);
        assert_eq!(machine.bootstrap("test").changes, [""; 0]);
    }
}

#[test]
fn a_package_of_node_is_installed_by_its_lock() {
    let machine = Machine::complete();
    let folder = machine.openai_npm();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let machine = machine.without(&format!("home/.cache/palyra/{name}"));
    assert_eq!(machine.bootstrap("chaos").changes, [""; 0]);
    fs::write(machine.path("offline"), "").unwrap();
    assert_eq!(machine.bootstrap("test").code, Some(1));
    fs::remove_file(machine.path("offline")).unwrap();
    let run = machine.bootstrap("test");
    assert_eq!(run.code, Some(0), "{}", run.said);
    let install = "--ignore-scripts --no-audit --no-fund --silent";
    assert_eq!(run.changes, [format!("npm ci --prefix {} {install}", folder.display())]);
    assert_eq!(machine.bootstrap("test").changes, [""; 0]);
    let lock = fs::read_to_string(folder.join("package-lock.json")).unwrap();
    assert!(lock.contains("integrity") && !lock.contains("://"), "{lock}");

    let machine = Machine::complete().without(&format!("home/.cache/palyra/{name}"));
    let run = machine.without("bin/node").bootstrap("test");
    assert_eq!((run.code, run.changes.len()), (Some(1), 0));
    assert!(run.said.contains("Node.js 20 or newer is missing"), "{}", run.said);
}

#[test]
fn python_is_installed_where_schemathesis_is() {
    let name = |machine: &Machine| {
        let folder = machine.schemathesis();
        format!("home/.cache/palyra/{}", folder.file_name().unwrap().to_str().unwrap())
    };
    let machine = Machine::complete().without("bin/python3");
    assert_eq!(machine.bootstrap("test").code, Some(0), "what is there needs no Python");
    let environment = name(&machine);
    let machine = machine.without(&environment);
    let run = machine.bootstrap("test");
    assert_eq!((run.code, run.changes.len()), (Some(1), 0));
    assert!(run.said.contains("Python 3.10 or newer with its modules venv"), "{}", run.said);

    let machine = machine.with_manager("apt-get");
    fs::remove_dir_all(machine.path("shelf/home")).unwrap();
    let run = machine.bootstrap("test");
    assert_eq!(run.code, Some(0), "{}", run.said);
    let install = "apt-get install -y --no-install-recommends python3 python3-venv";
    assert_eq!(run.changes[..2], ["apt-get update -qq", install]);

    let machine = Machine::complete();
    machine.python("3.9.2");
    let environment = name(&machine);
    let run = machine.without(&environment).bootstrap("test");
    assert_eq!((run.code, run.changes.len()), (Some(1), 0));
    assert!(run.said.starts_with("bootstrap: Python 3.9.2 is too old, 3.10 or"), "{}", run.said);
}

#[test]
fn what_is_too_old_is_not_replaced() {
    let machine = Machine::complete().with_console().with_manager("apt-get");
    machine.postgres("14.12");
    machine.stub("bin/node", "echo v18.19.0");
    let run = machine.bootstrap("bench");
    assert_eq!((run.code, run.changes.len()), (Some(1), 0));
    assert!(run.said.starts_with("bootstrap: postgres (PostgreSQL) 14.12 in "), "{}", run.said);
    let run = machine.bootstrap("check");
    assert_eq!((run.code, run.changes.len()), (Some(1), 0));
    assert!(run.said.starts_with("bootstrap: Node.js v18.19.0 is too old, 20 or"), "{}", run.said);
}

//! The server that processes share. Each test has a temporary directory of its own, in which its
//! children meet apart from all other tests.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use palyra_testkit::fs::ScratchDir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};
use palyra_testkit::process::{Builder, Process, is_reexecuted, reexec_test};

use crate::world::{LONG, any_process_in, children_of, eventually, is_alive, stay, value_of};

#[test]
#[ignore = "a child process of the other tests"]
fn child() {
    if is_reexecuted() {
        match PostgresServer::shared() {
            Err(error) => println!("error={error:#}"),
            Ok(server) => {
                let database = server.create_database(DatabaseLocale::C).unwrap();
                let one = database.psql("SELECT 1").unwrap();
                println!("one={one} dir={}", server.socket_dir().display());
                stay();
            }
        }
    }
}

struct Place(ScratchDir);

impl Place {
    fn new() -> Self {
        let dir = ScratchDir::new().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        Self(dir)
    }

    fn child(&self) -> Builder {
        reexec_test("postgres_shared::child").unwrap().env("TMPDIR", self.0.path())
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(self.0.path()).unwrap().next().is_none()
    }
}

/// The directory of the server that `child` has joined, once it has.
fn joined(child: &Process) -> PathBuf {
    let line = child.wait_for_line("one=1", LONG).unwrap();
    PathBuf::from(value_of("dir", &line).unwrap())
}

fn pid_in(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().next().unwrap().trim().to_owned()
}

#[test]
fn processes_that_start_at_once_meet_at_one_server_which_goes_after_the_last() {
    let place = Place::new();
    let mut children: Vec<_> = (0..5).map(|_| place.child().spawn().unwrap()).collect();
    let dirs: Vec<_> = children.iter().map(joined).collect();
    assert!(dirs.iter().all(|dir| *dir == dirs[0]), "{dirs:?}");
    let server = pid_in(&dirs[0].join("data/postmaster.pid"));

    let last = children.pop().unwrap();
    for mut child in children {
        child.kill_dash_nine().unwrap();
    }
    let newcomer = place.child().spawn().unwrap();
    assert_eq!(joined(&newcomer), dirs[0]);
    drop(last);
    assert_eq!(pid_in(&dirs[0].join("data/postmaster.pid")), server);
    drop(newcomer);
    assert!(eventually(|| place.is_empty() && !any_process_in(&dirs[0])));
    assert!(!is_alive(&server));
}

#[test]
fn a_server_without_users_stays_for_one_that_comes_soon() {
    let place = Place::new();
    let first = place.child().spawn().unwrap();
    let dir = joined(&first);
    let supervisor = || pid_in(&dir.join("supervisor.pid"));
    // The supervisor waits for the users' lock, and between two users it sleeps.
    assert!(eventually(|| !children_of(&supervisor(), "flock").is_empty()));
    let waiting = supervisor();
    drop(first);
    assert!(eventually(|| !children_of(&waiting, "sleep").is_empty()));

    let second = place.child().spawn().unwrap();
    assert_eq!(joined(&second), dir);
    assert!(eventually(|| !children_of(&supervisor(), "flock").is_empty()));
    assert!(is_alive(&pid_in(&dir.join("data/postmaster.pid"))));
    drop(second);
    assert!(eventually(|| place.is_empty() && !any_process_in(&dir)));
}

#[test]
fn a_killed_supervisor_is_replaced_by_the_next_process_to_join() {
    let place = Place::new();
    let first = place.child().spawn().unwrap();
    let dir = joined(&first);
    let server = pid_in(&dir.join("data/postmaster.pid"));
    let supervisor = pid_in(&dir.join("supervisor.pid"));
    let pid = rustix::process::Pid::from_raw(supervisor.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(eventually(|| !is_alive(&supervisor)));

    let second = place.child().spawn().unwrap();
    assert_eq!(joined(&second), dir);
    assert_ne!(pid_in(&dir.join("supervisor.pid")), supervisor);
    assert_eq!(pid_in(&dir.join("data/postmaster.pid")), server, "the server lost its users");
    drop((first, second));
    assert!(eventually(|| place.is_empty() && !any_process_in(&dir)));
}

#[test]
fn a_server_that_does_not_start_says_why_and_leaves_nothing() {
    let place = Place::new();
    let programs = ScratchDir::new().unwrap();
    std::fs::set_permissions(programs.path(), Permissions::from_mode(0o755)).unwrap();
    for (name, script) in [
        ("initdb", "echo no space for a cluster >&2; exit 1"),
        ("postgres", "echo 'postgres (PostgreSQL) 17.1'"),
        ("pg_ctl", "exit 1"),
        ("psql", ""),
        ("createdb", ""),
        ("dropdb", ""),
        ("pg_dump", ""),
        ("pg_isready", "exit 2"),
    ] {
        let file = programs.path().join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    let child = place.child().env("PALYRA_POSTGRES_BIN", programs.path()).spawn().unwrap();
    let line = child.wait_for_line("error=", LONG).unwrap();
    assert!(line.contains("no space for a cluster"), "{line}");
    assert!(eventually(|| place.is_empty()));
}

#[test]
fn without_an_installation_the_error_says_what_to_install() {
    let place = Place::new();
    let child = place.child().env("PALYRA_POSTGRES_BIN", "/nowhere").spawn().unwrap();
    let line = child.wait_for_line("error=", LONG).unwrap();
    for expected in ["/nowhere", "PALYRA_POSTGRES_BIN names no usable", "apt-get install"] {
        assert!(line.contains(expected), "{line}");
    }
    assert!(place.is_empty());
}

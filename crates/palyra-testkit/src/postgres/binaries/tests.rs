use std::fs;
use std::path::Path;

use super::{PROGRAMS, first_complete, newest_first, on_search_path, parse_major};

fn install(dir: &Path, programs: &[&str]) {
    fs::create_dir_all(dir).unwrap();
    for program in programs {
        fs::write(dir.join(program), "").unwrap();
    }
}

#[test]
fn an_incomplete_installation_is_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let (client, server) = (root.path().join("client"), root.path().join("server"));
    install(&client, &["psql", "createdb"]);
    install(&server, &PROGRAMS);
    assert_eq!(first_complete(&[client, server.clone()]).unwrap(), server);
}

#[test]
fn a_missing_installation_says_what_to_install_and_what_was_lacking() {
    let root = tempfile::tempdir().unwrap();
    install(root.path(), &PROGRAMS[1..]);
    let text = first_complete(&[root.path().to_owned()]).unwrap_err().to_string();
    assert!(text.contains("(lacks initdb)"), "{text}");
    assert!(text.contains("apt-get install postgresql"), "{text}");
    assert!(text.contains("PALYRA_POSTGRES_BIN"), "{text}");
}

#[test]
fn a_link_on_the_search_path_leads_to_the_installation() {
    let root = tempfile::tempdir().unwrap();
    let (links, server) = (root.path().join("links"), root.path().join("server"));
    install(&links, &[]);
    install(&server, &PROGRAMS);
    std::os::unix::fs::symlink(server.join("initdb"), links.join("initdb")).unwrap();
    assert_eq!(on_search_path(links.as_os_str()), [server.canonicalize().unwrap()]);
}

#[test]
fn versions_are_ordered_as_numbers() {
    let root = tempfile::tempdir().unwrap();
    for name in ["pgsql-9", "pgsql-17", "pgsql-16", "pgsql-x", "other-99"] {
        fs::create_dir(root.path().join(name)).unwrap();
    }
    let names: Vec<_> = newest_first(root.path(), "pgsql-")
        .iter()
        .map(|dir| dir.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["pgsql-17/bin", "pgsql-16/bin", "pgsql-9/bin"]);
}

#[test]
fn the_major_version_is_read_from_every_spelling() {
    for (text, major) in [
        ("postgres (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)\n", Some(15)),
        ("postgres (PostgreSQL) 18beta1\n", Some(18)),
        ("postgres (PostgreSQL)", None),
    ] {
        assert_eq!(parse_major(text), major, "{text}");
    }
}

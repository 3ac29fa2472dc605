//! `make install`, with a cargo that has built already.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["palyrad", "palyra"];

#[test]
fn the_programs_are_put_where_they_were_asked_for_and_a_missing_path_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (built, prefix) = (folder.path().join("built here"), folder.path().join("my prefix"));
    fs::create_dir_all(built.join("release")).unwrap();
    for program in PROGRAMS {
        fs::write(built.join("release").join(program), program).unwrap();
    }
    let cargo = folder.path().join("cargo");
    let told = format!("{{\"version\":1,\"target_directory\":\"{}\",\"x\":1}}", built.display());
    fs::write(&cargo, format!("#!/bin/sh\n[ \"$1\" != metadata ] || echo '{told}'\n")).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();

    let path = std::env::var("PATH").unwrap();
    let install = |path: &str| {
        let mut make = Command::new("make");
        make.arg("install").current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        make.arg(format!("CARGO={}", cargo.display())).arg(format!("PREFIX={}", prefix.display()));
        // A make that runs this test is not asked for its jobs.
        make.env("PATH", path).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        let done = make.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let bin = prefix.join("bin");
    let told = format!("{} is not in your PATH", bin.display());
    let said = install(&path);
    assert!(said.contains(&told), "{said}");
    for program in PROGRAMS {
        let placed = bin.join(program);
        assert_eq!(fs::read_to_string(&placed).unwrap(), program);
        assert_eq!(placed.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }
    let said = install(&format!("{path}:{}", bin.display()));
    assert!(!said.contains("not in your PATH"), "{said}");
}

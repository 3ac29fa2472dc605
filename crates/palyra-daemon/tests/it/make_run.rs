//! `make run`, with a cargo that has built already.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use palyra_testkit::fs::private_tempdir;
use palyra_testkit::process::Process;

use crate::daemon::Daemon;

#[test]
fn it_ends_in_a_link_to_log_in_with() {
    let folder = private_tempdir().unwrap();
    let built = folder.path().join("built here");
    fs::create_dir_all(built.join("debug")).unwrap();
    symlink(env!("CARGO_BIN_EXE_palyrad"), built.join("debug/palyrad")).unwrap();
    let cargo = folder.path().join("cargo");
    let told = format!("{{\"version\":1,\"target_directory\":\"{}\",\"x\":1}}", built.display());
    fs::write(&cargo, format!("#!/bin/sh\n[ \"$1\" != metadata ] || echo '{told}'\n")).unwrap();
    fs::set_permissions(&cargo, Permissions::from_mode(0o755)).unwrap();

    let make = Process::builder("make")
        .arg("run")
        .arg(format!("CARGO={}", cargo.display()))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .data_dir(folder.path().join("data"))
        .env("PALYRA_HTTP_BIND", "127.0.0.1:0")
        .env("PALYRA_GRPC_BIND", "127.0.0.1:0")
        .env("XDG_CONFIG_HOME", folder.path().join("config"))
        // A make that runs this test is not asked for its jobs.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .ready_line("palyrad is ready");
    let daemon = Daemon::of(make);
    let login = daemon.tcp("POST", &daemon.login_path(), &[], "");
    assert_eq!((login.status, login.header("location")), (303, Some("/")), "{login:?}");
}

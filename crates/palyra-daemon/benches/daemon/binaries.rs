//! How large the programs are.

use std::path::Path;
use std::process::Command;

use palyra_testkit::figures::{Measured, report};

pub(crate) fn run() {
    let palyrad = Path::new(env!("CARGO_BIN_EXE_palyrad"));
    size("daemon.binary_mb", palyrad);
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "palyra-cli"])
        .status();
    assert!(built.unwrap().success());
    size("cli.binary_mb", &palyrad.with_file_name("palyra"));
}

fn size(name: &str, program: &Path) {
    let bytes = std::fs::metadata(program).unwrap().len();
    report(name, "MB", Measured::alone(bytes as f64 / 1_000_000.0), None);
}

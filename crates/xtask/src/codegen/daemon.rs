//! What only the daemon itself can tell: it is built and asked.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Every option with its default and what it is for.
pub(super) fn config_example() -> Result<String> {
    ask(&["config", "example"])
}

/// The description of the HTTP API.
pub(super) fn openapi() -> Result<String> {
    ask(&["openapi"])
}

fn ask(words: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--package", "palyra-daemon", "--bin", "palyrad", "--"]);
    let output = command.args(words).output().context("run palyrad")?;
    if !output.status.success() {
        bail!("palyrad {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("what palyrad says is not UTF-8")
}

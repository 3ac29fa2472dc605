//! The workspace's own tools: `cargo xtask help` lists them.

mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
usage: cargo xtask <command>

  tidy                      check layers, lengths, dependencies and docs
  codegen [--check]         write the generated files, or check that they are up to date
  bench [--strict] [NAME…]  run the benches and collect their figures
  help                      show this
";

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let passed = match words.as_slice() {
        ["tidy"] => tidy::run()?,
        [] | ["help" | "--help" | "-h"] => show_help()?,
        _ => bail!("unknown arguments: {}\n\n{HELP}", arguments.join(" ")),
    };
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn show_help() -> Result<bool> {
    use std::io::Write as _;
    std::io::stdout().lock().write_all(HELP.as_bytes())?;
    Ok(true)
}

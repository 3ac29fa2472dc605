//! The workspace's own tools: `cargo xtask help` lists them.

mod bench;
mod codegen;
mod tidy;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

use bench::Goals;

const HELP: &str = "\
usage: cargo xtask <command>

  tidy                      check layers, lengths, dependencies and docs
  codegen [--check]         write the generated files, or check that they are up to date
  bench [--strict] [NAME…]  run the benches and collect their figures
  help [COMMAND]            show this, or more about one command; the same as --help
";

fn main() -> ExitCode {
    // What is no text is no word that we know, and is shown as well as it can be.
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let arguments: Vec<String> = words.collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Not as `main`'s result: a backtrace would bury what to do. If standard error is
            // closed, the exit code still tells.
            let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the words say; whether all is well.
fn run(words: &[&str]) -> Result<bool> {
    Ok(match words {
        ["tidy"] => tidy::run()?,
        ["codegen"] => codegen::run(false).map(|()| true)?,
        ["codegen", "--check"] => codegen::run(true).map(|()| true)?,
        ["bench", "--strict", names @ ..] if all_names(names) => {
            bench::run(names, Goals::Required)?
        }
        ["bench", names @ ..] if all_names(names) => bench::run(names, Goals::Shown)?,
        [] | ["help" | "--help" | "-h"] => show(HELP)?,
        ["help", "tidy"] | ["tidy", .., "--help" | "-h"] => show(&tidy::help())?,
        ["help", "codegen"] | ["codegen", .., "--help" | "-h"] => show(&codegen::help())?,
        ["help", "bench"] | ["bench", .., "--help" | "-h"] => show(&bench::help())?,
        _ => bail!("unknown arguments: {}\n\n{HELP}", words.join(" ")),
    })
}

fn all_names(words: &[&str]) -> bool {
    words.iter().all(|word| !word.starts_with('-'))
}

fn show(text: &str) -> Result<bool> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(true)
}

//! `cargo xtask bench`: runs the benches and gathers their figures in one place.
//!
//! A bench is a `harness = false` target that measures its figures and the raw reference in the
//! same run, and appends each as a line of JSON to the file that `PALYRA_BENCH_OUT` names.

mod figure;
mod table;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::MetadataCommand;

use figure::Figure;

/// Where a bench finds the name of the file for its figures.
const OUT_VARIABLE: &str = "PALYRA_BENCH_OUT";

struct Bench {
    package: &'static str,
    name: &'static str,
    /// What it measures, for the help.
    about: &'static str,
}

/// Every bench of the workspace.
const BENCHES: &[Bench] = &[
    Bench {
        package: "palyra-daemon",
        name: "daemon",
        about: "what the daemon costs to start, to keep and per request, beside a bare axum server",
    },
    Bench {
        package: "palyra-gateway",
        name: "acp",
        about: "what a command costs with its commit, beside a raw database",
    },
    Bench {
        package: "palyra-gateway",
        name: "outbox",
        about: "what it costs to bring messages in and out, beside a raw database",
    },
    Bench {
        package: "palyra-gateway",
        name: "runs",
        about: "what a run costs beside its model, beside a raw database that commits the same rows",
    },
    Bench {
        package: "palyra-storage",
        name: "storage",
        about: "how much of the speed of SQLite and Postgres storage keeps",
    },
];

pub(crate) fn help() -> String {
    let benches: String =
        BENCHES.iter().map(|bench| format!("  {:8} {}\n", bench.name, bench.about)).collect();
    format!(
        "\
usage: cargo xtask bench [--strict] [NAME…]

Runs the benches of these names, or all:

{benches}
`make bench BENCH=storage` does the same as `cargo xtask bench storage`, after it has seen to it that
the machine has what it needs. The figures are shown as a table and kept in
target/bench/summary.json.

{READING}
A bench that fails makes the exit code 1; a goal that is missed does so only with --strict.
"
    )
}

/// How the table is read.
const READING: &str = "\
Columns of the table:

             ✓ the goal is met, ✗ it is missed, – there is none
  value      what was measured, in the unit beside it
  reference  the raw thing without us (the bare database or server), measured in the same run, so
             that the speed of the machine does not matter
  ratio      value to reference, as the median over the turns of the run; hence not always exactly
             the one number divided by the other
  goal       what the ratio has to be; where there is no ratio, the value
";

/// What a goal that was missed means for the outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goals {
    Shown,
    Required,
}

/// Runs the benches of these names, or all, and says whether all went well.
pub(crate) fn run(names: &[&str], goals: Goals) -> Result<bool> {
    let chosen = choose(names)?;
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let folder = metadata.target_directory.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {folder}"))?;

    let mut figures = Vec::new();
    let mut failures = Vec::new();
    for bench in chosen {
        let out = folder.join(format!("{}.jsonl", bench.name));
        match bench.measure(out.as_std_path()) {
            Ok(measured) => figures.extend(measured),
            Err(error) => failures.push(format!("{}: {error:#}", bench.name)),
        }
    }
    figure::sort(&mut figures)?;
    let summary = folder.join("summary.json");
    fs::write(&summary, figure::summary(&figures)?)
        .with_context(|| format!("cannot write {summary}"))?;

    let mut out = std::io::stdout().lock();
    write!(out, "{}", table::render(&figures))?;
    writeln!(out, "\nfigures in {summary}")?;
    for failure in &failures {
        writeln!(out, "failed: {failure}")?;
    }
    let missed = figures.iter().any(|figure| figure.meets_goal() == Some(false));
    Ok(failures.is_empty() && !(missed && goals == Goals::Required))
}

fn choose(names: &[&str]) -> Result<Vec<&'static Bench>> {
    if let Some(unknown) = names.iter().find(|name| BENCHES.iter().all(|of| of.name != **name)) {
        let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        bail!("there is no bench {unknown}; there is: {}", known.join(", "));
    }
    let wanted = |bench: &&Bench| names.is_empty() || names.contains(&bench.name);
    Ok(BENCHES.iter().filter(wanted).collect())
}

impl Bench {
    fn measure(&self, out: &Path) -> Result<Vec<Figure>> {
        // The bench appends: what an earlier run left would be counted as measured now.
        fs::write(out, "").with_context(|| format!("cannot empty {}", out.display()))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["bench", "--package", self.package, "--bench", self.name])
            .env(OUT_VARIABLE, out)
            .status()
            .context("cannot start cargo")?;
        if !status.success() {
            bail!("the bench ended with {status}");
        }
        let lines =
            fs::read_to_string(out).with_context(|| format!("cannot read {}", out.display()))?;
        figure::parse(&lines)
    }
}

#[cfg(test)]
mod tests;

//! `palyra backup verify`

use std::path::{Path, PathBuf};

use palyra_common::{StableErrorEnvelope, Timestamp};
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::palyrad;

/// Check that a backup, or a copy that was kept before a migration, is whole, without a daemon
///
/// Exits with 7 when it is not.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra backup verify palyra-backup-20260131T080000.000Z.tar.gz"
)]
pub(crate) struct Arguments {
    /// The backup or copy
    file: PathBuf,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    match check(context, &arguments.file) {
        Ok(found) => {
            context.out().show(&report(&found, None), |out, _| text(out, &arguments.file, &found))
        }
        Err(Failure::Told(fault)) if Exit::of(&fault) == Exit::Faults => {
            let report = report(&Value::Null, Some(&fault));
            context.out().show(&report, |out, _| faulty(out, &arguments.file, &fault))?;
            Err(Failure::Faults)
        }
        Err(failure) => Err(failure),
    }
}

/// Of one shape, whatever was found. Of a file with a fault nothing else is certain, and a copy tells
/// less of itself than a backup.
fn report(found: &Value, fault: Option<&StableErrorEnvelope>) -> Value {
    let names = ["kind", "schema", "engine", "made_at", "rows", "blobs", "missing_blobs"];
    let facts = names.iter().map(|name| ((*name).to_owned(), found[name].clone()));
    facts.chain([("fault".to_owned(), json!(fault))]).collect()
}

fn faulty(out: &Output, file: &Path, fault: &StableErrorEnvelope) -> String {
    format!(
        "{} {}: {}\n  code: {}\n  what to do: {}\n",
        printable(&file.display().to_string()),
        out.paint(Tone::Bad, "has a fault"),
        printable(fault.message()),
        printable(fault.code()),
        printable(fault.recovery_hint()),
    )
}

/// What palyrad says about the backup at `file`.
pub(super) fn check(context: &Context, file: &Path) -> Result<Value, Failure> {
    // An option could stand where a file is meant.
    let file = std::path::absolute(file).map_err(|error| Failure::file(file, error))?;
    let progress = context.out().progress("{spinner} checking, {elapsed}");
    let asked = ["verify-backup".as_ref(), "--json".as_ref(), file.as_os_str()];
    let found = palyrad::ask(context, &asked);
    progress.finish_and_clear();
    found
}

fn text(out: &Output, file: &Path, found: &Value) -> String {
    let whole = out.paint(Tone::Good, "is whole");
    let facts = found.as_object().into_iter().flatten().filter(|(_, value)| !value.is_object());
    let facts: String = facts.map(|(name, value)| fact(name, value)).collect();
    format!("{} {whole}.\n{facts}", printable(&file.display().to_string()))
}

fn fact(name: &str, value: &Value) -> String {
    let shown = match (name, value.as_i64()) {
        ("made_at", Some(millis)) => Timestamp::from_unix_millis(millis).to_string(),
        (_, _) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    };
    format!("  {}: {}\n", printable(name), printable(&shown))
}

//! `palyra bundle`

mod redact;

use std::path::{Path, PathBuf};

use palyra_client::EventQuery;
use palyra_common::StableErrorEnvelope;
use serde::Serialize;
use serde_json::{Value, json};

use super::{audit, config, doctor};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::printable;
use crate::{files, log_file, when};

/// The version of the shape.
const FORMAT: u32 = 1;
const EVENTS: u32 = 200;
const LOG_LINES: usize = 1_000;

/// Write what helps to find a fault, without secrets, into one file
///
/// It holds versions, status, checks, configuration, the newest audit events and the end of the log.
/// Secrets are never asked for. The running daemon takes their values out of every text; then, and
/// without a daemon or without its master key, what looks like a secret goes too. The part
/// "redaction" says which it was. Look through it before you hand it on: it names people, files and
/// addresses.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra bundle
  palyra bundle report.json
  palyra bundle - | less"
)]
pub(crate) struct Arguments {
    /// The file to write, which must not be there yet, or - for standard output
    /// [default: palyra-bundle-TIME.json here]
    file: Option<PathBuf>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let default = || format!("palyra-bundle-{}.json", when::stamp(when::now())).into();
    let file = arguments.file.unwrap_or_else(default);
    let mut bundle = collect(context).await?;
    redact::shorten(&mut bundle);
    let by_value = redact::by_value(&context.client()?, &mut bundle).await;
    redact::by_shape(&mut bundle);
    bundle["redaction"] = part(by_value.map(|()| "by value and shape").map_err(Failure::from));
    if let Some(told) = bundle["redaction"].as_object_mut() {
        told.insert("done".into(), "by shape".into());
    }
    let lines = bundle["log"].as_str().map(|log| log.lines().map(Value::from).collect());
    if let Some(lines) = lines {
        bundle["log"] = Value::Array(lines);
    }
    let missing = missing(&bundle);
    bundle["missing"] = json!(missing.iter().map(|(part, _)| part).collect::<Vec<_>>());
    let text = format!("{bundle:#}\n");
    if file == Path::new("-") {
        context.out().print(&text)?;
        tell_missing(context, &missing);
        return Ok(());
    }
    files::create_private(&file, text.as_bytes())?;
    tell_missing(context, &missing);
    let written = json!({
        "file": file.display().to_string(),
        "bytes": text.len(),
        "missing": bundle["missing"],
    });
    context.out().show(&written, |_, _| {
        let file = file.display().to_string();
        format!("{} is written. Look through it before you hand it on.\n", printable(&file))
    })
}

/// Each part by itself: what cannot be had says why, and the rest is still there.
async fn collect(context: &Context) -> Result<Value, Failure> {
    let client = context.client()?;
    let status = part(client.status().await.map_err(Failure::from));
    let newest = EventQuery { limit: Some(EVENTS), ..EventQuery::default() };
    let events = audit::list::collect(&client, newest).await.map(|page| page.items);
    let log = if context.is_remote() { Value::Null } else { part(log_lines(context)) };
    Ok(json!({
        "format": FORMAT,
        "made_at": when::now(),
        "palyra": env!("CARGO_PKG_VERSION"),
        "system": system(),
        "status": status,
        "checks": part(doctor::examine(context).await),
        "config": part(config::source::view(context).await),
        "events": part(events.map_err(Failure::from)),
        "log": log,
    }))
}

/// The parts that could not be had, each with the reason.
fn missing(bundle: &Value) -> Vec<(String, String)> {
    let reason = |(part, value): (&String, &Value)| {
        let why = value.get("error")?.get("message")?.as_str()?;
        Some((part.clone(), why.to_owned()))
    };
    bundle.as_object().into_iter().flatten().filter_map(reason).collect()
}

/// The file says it too, but whoever hands it on may not look for it.
fn tell_missing(context: &Context, missing: &[(String, String)]) {
    for (part, why) in missing {
        let what = match part.as_str() {
            "redaction" => "Values of secrets were not taken out, only what looks like one",
            _ => &format!("Not in it: {part}"),
        };
        context.out().note(&format!("{what} ({})", printable(why)));
    }
}

fn part<T: Serialize>(found: Result<T, Failure>) -> Value {
    let error = |envelope: &StableErrorEnvelope| json!({ "error": envelope });
    match found {
        Ok(value) => serde_json::to_value(value)
            .unwrap_or_else(|error| json!({ "error": { "message": error.to_string() } })),
        Err(Failure::Told(envelope)) => error(&envelope),
        Err(Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted) => Value::Null,
    }
}

/// As one text, since a secret may have several lines, and as much as the daemon can be asked about.
fn log_lines(context: &Context) -> Result<String, Failure> {
    let path = log_file::path(&context.data_dir()?);
    let found = log_file::last_lines(&path, 0, LOG_LINES);
    let (lines, _) = found.map_err(|error| Failure::file(&path, error))?;
    let mut bytes = 0;
    let fitting = lines.iter().rev().take_while(|line| {
        bytes += redact::asked_bytes(line);
        bytes <= redact::AT_ONCE_BYTES
    });
    let skipped = lines.len() - fitting.count();
    Ok(lines[skipped..].join("\n"))
}

fn system() -> Value {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "name": name.map(|name| name.trim_matches('"')),
        "kernel": kernel.trim(),
    })
}

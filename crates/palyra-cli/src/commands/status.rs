//! `palyra status`

use palyra_client::ClientError;
use palyra_common::ErrorCode;
use palyra_common::api::{RunsStatus, Status, VaultStatus};

use crate::commands::daemon::holder::Unheard;
use crate::commands::daemon::running::{self, Seen};
use crate::context::Context;
use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::table::{Cell, Table};

/// Show how the daemon is
///
/// Exits with 7 when a part of it is not ready or secrets cannot be used.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  palyra status\n  palyra status --json")]
pub(crate) struct Arguments {}

pub(crate) async fn run(context: &Context) -> Outcome {
    let status = if context.is_remote() {
        context.waiting(context.client()?.status()).await?
    } else {
        heard(context).await?
    };
    context.out().show(&status, text)?;
    let is_vault_well = status.vault.problem.is_none() && status.vault.doubt.is_none();
    let is_well = status.ready && is_vault_well;
    if is_well { Ok(()) } else { Err(Failure::Faults) }
}

/// The status of the daemon of this machine. One that runs and does not answer is told as such.
async fn heard(context: &Context) -> Result<Status, Failure> {
    let data_dir = context.data_dir()?;
    match running::seen(context, &data_dir).await? {
        Seen::Answers(status) => Ok(*status),
        Seen::Silent(pid) => {
            let told = Unheard::of(pid, &data_dir).to_string();
            Err(Failure::new(ErrorCode::ClientUnreachable, told))
        }
        Seen::Nobody => Err(ClientError::NotRunning { data_dir }.into()),
    }
}

pub(crate) fn text(out: &Output, status: &Status) -> String {
    let version = printable(&status.version);
    let head = if status.ready {
        out.paint(Tone::Good, &format!("palyrad {version} is ready"))
    } else {
        let waiting = printable(&status.waiting_for.join(", ")).into_owned();
        out.paint(Tone::Bad, &format!("palyrad {version} is not ready, it waits for: {waiting}"))
    };
    let mut table = Table::of_fields();
    table.field("process", format!("{}, since {}", status.pid, status.started_at));
    table.field("profile", status.profile.as_str());
    table.field("data", status.data_dir.as_str());
    table.field("storage", format!("{}, {}", status.engine, schema(status)));
    table.field("http", format!("http://{}", status.http));
    table.field("grpc", status.grpc.as_str());
    table.field("owner", owner(status));
    table.field("vault", vault(status));
    table.field("runs", runs(status));
    format!("{head}\n{}", table.render(out))
}

/// What is said of what only the database tells.
const AWAY: &str = "not known while the database is away";

fn runs(status: &Status) -> Cell {
    let Some(runs) = status.runs else { return AWAY.into() };
    let RunsStatus { queued, running, waiting_for_approval, paused, approvals } = runs;
    let told = format!("{} under way, {paused} paused", queued + running);
    match approvals.max(waiting_for_approval) {
        0 => told.into(),
        waiting => {
            let waiting = count::of(waiting, "waits for an approval", "wait for an approval");
            Cell::toned(Tone::Doubtful, format!("{told}, {waiting}"))
        }
    }
}

fn schema(status: &Status) -> String {
    match status.schema {
        Some(schema) => format!("schema {schema}"),
        None => format!("schema {AWAY}"),
    }
}

fn owner(status: &Status) -> Cell {
    match (status.has_owner, status.owner_logged_in) {
        (Some(true), Some(true)) => "has logged in".into(),
        (Some(true), Some(false)) => {
            "has not logged in yet; `palyra dashboard` gives a link".into()
        }
        (Some(false), _) => {
            Cell::toned(Tone::Doubtful, "there is none yet; run `palyra dashboard`")
        }
        (Some(true), None) => format!("there is one; whether they have logged in is {AWAY}").into(),
        (None, _) => AWAY.into(),
    }
}

fn vault(status: &Status) -> Cell {
    let VaultStatus { key_source, key_id, doubt, problem, problem_seen_at } = &status.vault;
    if let Some(problem) = problem {
        let seen = problem_seen_at.map(|at| format!(" (seen at {at})"));
        return Cell::toned(Tone::Bad, format!("{problem}{}", seen.unwrap_or_default()));
    }
    if let Some(doubt) = doubt {
        let told = format!("whether the next start finds the key is not known: {doubt}");
        return Cell::toned(Tone::Bad, told);
    }
    let is_away = status.waiting_for.iter().any(|part| part == "database");
    match key_id {
        // The secrets are in the database.
        Some(id) if is_away => format!("the key {id} is there, from {key_source}").into(),
        Some(id) => format!("usable, with the key {id} from {key_source}").into(),
        None if is_away => AWAY.into(),
        None => format!("no secret yet; the first one makes the key, from {key_source}").into(),
    }
}

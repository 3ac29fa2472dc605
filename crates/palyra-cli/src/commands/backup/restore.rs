//! `palyra backup restore`

use std::path::{Path, PathBuf};

use palyra_client::ClientError;
use palyra_common::ErrorCode;
use serde_json::Value;

use super::verify;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone, printable};
use crate::{palyrad, prompt};

/// Restore a backup into a data directory or database that holds no data, or go back to a copy
///
/// A copy of a SQLite database, palyra.db.schema-N.copy, is kept before a newer version migrates it. It
/// takes the place of the database in its data directory, which is kept as palyra.db.replaced-N (a
/// …-wal beside it belongs to it); blobs and the master key stay as they are. To stay with the older
/// version use the restore of that version: a newer one migrates the copy again. For a backup:
///
/// There must be no database and no blobs yet; other files, such as palyra.toml, stay as they are.
/// The daemon must not run. The backup is checked first; one whose audit trail was broken already is
/// restored as it is, and that is told. The master key of the vault is not in a backup: it is told
/// which one the secrets need, and where it belongs.
///
/// A backup holds what has changed since it was made. Logins and links to log in with are ended. API
/// tokens and principals stay, also those that were revoked or disabled since: it is told how many
/// there are. Messages that had not gone out may have since, so that they wait until somebody decides
/// what becomes of them; messages that had come in and were undecided are not answered.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra backup restore palyra-backup-20260131T080000.000Z.tar.gz
  palyra --data-dir /srv/new backup restore backup.tar.gz --yes
  palyra --data-dir /srv/palyra backup restore /srv/palyra/palyra.db.schema-5.copy"
)]
pub(crate) struct Arguments {
    /// The backup or copy
    file: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let data_dir = context.own_data_dir("backup restore")?;
    match context.client()?.health().await {
        Err(ClientError::NotRunning { .. }) => {}
        Err(
            error @ (ClientError::NotPermitted { .. }
            | ClientError::PathTooLong { .. }
            | ClientError::NotAFolder { .. }),
        ) => return Err(error.into()),
        Ok(_) | Err(_) => {
            return Err(Failure::conflict(format!(
                "a daemon runs on {}; stop it first with `palyra daemon stop`",
                data_dir.display()
            )));
        }
    }
    let found = look(context, &arguments.file)?;
    let file = std::path::absolute(&arguments.file);
    let file = file.map_err(|error| Failure::file(&arguments.file, error))?;
    let question = question(&found, &file, &data_dir);
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let progress = context.out().progress("{spinner} restoring, {elapsed}");
    let asked = ["restore".as_ref(), "--json".as_ref(), file.as_os_str()];
    let restored = palyrad::ask::<Value>(context, &asked);
    progress.finish_and_clear();
    let mut restored = restored?;
    restored["file"] = file.display().to_string().into();
    restored["data_dir"] = data_dir.display().to_string().into();
    context.out().show(&restored, text)
}

/// What a file is that is to be restored.
enum Found {
    Backup,
    /// What speaks against it does not keep it from being restored. An audit trail that somebody has
    /// broken takes nothing from the rest, and there may be no better backup.
    DoubtfulBackup(String),
    Copy,
}

fn look(context: &Context, file: &Path) -> Result<Found, Failure> {
    match verify::check(context, file) {
        Ok(found) if found["kind"] == "copy" => Ok(Found::Copy),
        Ok(_) => Ok(Found::Backup),
        Err(Failure::Told(told)) if told.known_code() == Some(ErrorCode::JournalBrokenChain) => {
            Ok(Found::DoubtfulBackup(told.message().to_owned()))
        }
        Err(failure) => Err(failure),
    }
}

fn question(found: &Found, file: &Path, data_dir: &Path) -> String {
    let (file, data_dir) = (file.display(), data_dir.display());
    match found {
        Found::Backup => format!("Restore {file} into {data_dir}?"),
        Found::DoubtfulBackup(doubt) => {
            format!("{}. Restore {file} into {data_dir} all the same?", printable(doubt))
        }
        Found::Copy => format!(
            "Put {file} in the place of the database in {data_dir}, which is kept under another name?"
        ),
    }
}

fn text(out: &Output, restored: &Value) -> String {
    let texts =
        |name: &str| restored[name].as_array().into_iter().flatten().filter_map(Value::as_str);
    let lines = |text: &str| -> String {
        text.lines().map(|line| format!("{}\n", printable(line))).collect()
    };
    let told: String = texts("told").map(lines).collect();
    let mark = out.paint(Tone::Doubtful, "warning:");
    let warnings = texts("warnings").map(|warning| format!("{mark} {}", lines(warning)));
    let warnings: String = warnings.collect();
    format!("{told}{warnings}Start the daemon with `palyra daemon start`.\n")
}

//! `palyra backup restore`

use std::path::PathBuf;

use palyra_client::ClientError;
use serde_json::json;

use super::verify;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::printable;
use crate::{palyrad, prompt};

/// Restore a backup into a data directory or database that holds no data
///
/// There must be no database and no blobs yet; other files, such as palyra.toml, stay as they are.
/// The daemon must not run. The backup is checked first. The master key of the vault is not in a
/// backup: it is told which one the secrets need, and where it belongs.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra backup restore palyra-backup-20260131T080000.000Z.tar.gz
  palyra --data-dir /srv/new backup restore backup.tar.gz --yes"
)]
pub(crate) struct Arguments {
    /// The backup
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
    verify::check(context, &arguments.file)?;
    let file = std::path::absolute(&arguments.file);
    let file = file.map_err(|error| Failure::file(&arguments.file, error))?;
    let question = format!("Restore {} into {}?", file.display(), data_dir.display());
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let progress = context.out().progress("{spinner} restoring, {elapsed}");
    let done = palyrad::done(context, &["restore".as_ref(), file.as_os_str()]);
    progress.finish_and_clear();
    let said = done?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let restored = json!({
        "file": file.display().to_string(),
        "data_dir": data_dir.display().to_string(),
        "told": said.lines().collect::<Vec<_>>(),
    });
    context.out().show(&restored, |_, _| {
        let said = said.lines().map(|line| format!("{}\n", printable(line))).collect::<String>();
        format!("{said}Start the daemon with `palyra daemon start`.\n")
    })
}

//! `palyra secrets rotate-master`

use palyra_common::api::{MasterRotated, RotateMaster};

use crate::context::Context;
use crate::count;
use crate::failure::Outcome;
use crate::output::{Output, printable};
use crate::prompt;

/// Where no file is told: which of the two it was, only the daemon knows.
const KEPT_ELSEWHERE: &str = "is kept in the keyring, by its id, if it was there; if it came from a \
                              passphrase or a command, keep that";

/// No passphrase that the vault takes has more.
const PASSPHRASE_BYTES: usize = 4_000;

/// Lock all secrets with a new master key
///
/// The values stay as they are. A backup that was made before needs the old key for its secrets,
/// which is kept beside the key file or in the keyring, by its id; there restoring finds it. The
/// last 32 old keys are kept, and it is told which one goes next. A passphrase or a command of before is not: that is up to you.
/// Nodes that share a database have a copy of the key each: until it is renewed, they can read no
/// secret.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra secrets rotate-master
  palyra secrets rotate-master --ask-passphrase      where the key comes from a passphrase"
)]
pub(crate) struct Arguments {
    /// Ask for the new passphrase, at a hidden prompt or on standard input
    #[arg(long, conflicts_with = "key_command")]
    ask_passphrase: bool,
    /// The program that prints the new key, and its arguments; the last of the options
    #[arg(long, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true)]
    key_command: Vec<String>,
    /// Do not ask whether it is meant
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let out = context.out();
    let client = context.client()?;
    prompt::confirm(out, "Lock all secrets with a new master key?", arguments.yes)?;
    let ask = || prompt::new_passphrase(out, "New passphrase: ", PASSPHRASE_BYTES);
    let passphrase = arguments.ask_passphrase.then(ask).transpose()?;
    let command = Some(arguments.key_command).filter(|command| !command.is_empty());
    let progress = out.progress("{spinner} changing the master key, {elapsed}");
    let rotated = client.rotate_master(&RotateMaster { passphrase, command }).await;
    progress.finish_and_clear();
    out.show(&rotated?, text)
}

fn text(_: &Output, rotated: &MasterRotated) -> String {
    let key = printable(&rotated.key_id);
    let next = rotated.next_step.as_deref().map(|step| format!("{}\n", printable(step)));
    let next = next.unwrap_or_default();
    let place = |file: &Option<String>, before: &str| {
        file.as_deref().map(|file| format!("{before}{}", printable(file)))
    };
    let new = place(&rotated.key_file, ", in ").unwrap_or_default();
    let old = place(&rotated.old_key_file, "is kept in ").unwrap_or_else(|| KEPT_ELSEWHERE.into());
    format!(
        "{} locked with the new key {key}{new}.\nThe old key {} {old}; \
         backups made before need it.\n{next}",
        count::of(rotated.rewrapped, "version of a secret is", "versions of secrets are"),
        printable(&rotated.old_key_id)
    )
}

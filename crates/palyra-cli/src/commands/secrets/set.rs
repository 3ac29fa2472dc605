//! `palyra secrets set`

use palyra_common::api::{SecretStored, SecretValue};

use super::name::SecretName;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, printable};
use crate::prompt;

/// The largest value that the vault takes.
const VALUE_BYTES: usize = 64 << 10;

/// Store a secret
///
/// The value is typed at a hidden prompt or read from standard input, of which one newline at the
/// end is left away. It is never an argument, because every process of a machine can read those. A
/// secret that is there gets a new version; the last ten are kept. A value has at most 64 KiB, and
/// the vault holds 4000 versions or 16 MiB in all. A value of fewer than six characters is not taken
/// out of logs and texts: it would be found in many that have nothing to do with it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra secrets set openai
  palyra secrets set connector:discord/token < token.txt
  pass show openai | palyra secrets set openai"
)]
pub(crate) struct Arguments {
    /// NAME, or SCOPE/NAME with one of the scopes global, agent:ID, connector:ID, skill:ID,
    /// principal:ID
    #[arg(value_name = "[SCOPE/]NAME")]
    named: SecretName,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let SecretName { scope, name } = &arguments.named;
    let client = context.client()?;
    let prompt = format!("Value of {}: ", arguments.named);
    let value = SecretValue { value: prompt::secret(context.out(), &prompt, VALUE_BYTES)? };
    let stored = client.set_secret(scope, name, &value).await?;
    context.out().show(&stored, text)
}

fn text(_: &Output, stored: &SecretStored) -> String {
    let (scope, name) = (printable(&stored.scope), printable(&stored.name));
    format!("{scope}/{name} is stored as version {}.\n", stored.version)
}

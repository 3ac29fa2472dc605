//! `palyra router rules`

use palyra_client::Client;
use palyra_common::api::{NewRule, Page, RouterRule, RuleChange};
use palyra_common::ids::{ConnectorId, RuleId};
use palyra_common::route::Rule;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Outcome;
use crate::fields::{field, fields_of, with_fields};
use crate::output::{Output, Tone, printable};
use crate::prompt;

#[cfg(test)]
mod tests;

/// The rules by which messages reach agents
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Add(AddArguments),
    Set(SetArguments),
    Remove(RemoveArguments),
}

/// List rules, with what an operator should know about them
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra router rules list
  palyra router rules list --channel echo:default --json"
)]
pub(crate) struct ListArguments {
    /// Only those of this channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<ConnectorId>,
}

/// Make a rule for a channel
///
/// FIELD=VALUE says what differs from the most careful rule, which hears nobody but those who are
/// let in. VALUE is JSON, or a text. There is one rule for each conversation, and one for all others.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra router rules add echo:second direct_messages=allow
  palyra router rules add echo:second conversation=general scope=open_guild_channels
  palyra router rules add echo:second 'allow_from=[\"ann\"]'"
)]
pub(crate) struct AddArguments {
    /// The channel, as echo:default
    #[arg(value_name = "CHANNEL")]
    channel: ConnectorId,
    /// What it says
    #[arg(value_name = "FIELD=VALUE", value_parser = field)]
    fields: Vec<(String, Value)>,
}

/// Change fields of a rule; the others stay as they are
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra router rules set 01HZ3V9K8M2QF6T7Y4W5X6A7B8 mention=needed"
)]
pub(crate) struct SetArguments {
    /// The rule
    #[arg(value_name = "RULE")]
    rule: RuleId,
    /// What it says from now on
    #[arg(value_name = "FIELD=VALUE", required = true, value_parser = field)]
    fields: Vec<(String, Value)>,
}

/// Remove a rule
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra router rules remove 01HZ3V9K8M2QF6T7Y4W5X6A7B8 --yes"
)]
pub(crate) struct RemoveArguments {
    /// The rule
    #[arg(value_name = "RULE")]
    rule: RuleId,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, command: Command) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    match command {
        Command::List(arguments) => {
            let all = all(&client, arguments.channel.as_ref()).await?;
            out.show(&all, |out, page| page.items.iter().map(|rule| text(out, rule)).collect())
        }
        Command::Add(AddArguments { channel, fields }) => {
            let rule = with_fields("rule", &Rule::default(), fields)?;
            out.show(&client.add_rule(&NewRule { channel, rule }).await?, text)
        }
        Command::Set(SetArguments { rule, fields }) => {
            let was = client.rule(rule).await?;
            let said = with_fields("rule", &was.rule, fields)?;
            let change = RuleChange { rule: said, version: Some(was.version) };
            out.show(&client.change_rule(rule, &change).await?, text)
        }
        Command::Remove(RemoveArguments { rule, yes }) => {
            let question = format!("Remove the rule {rule}? Nobody is heard by it any more.");
            prompt::confirm(out, &question, yes)?;
            client.remove_rule(rule).await?;
            let removed = json!({ "id": rule, "removed": true });
            out.show(&removed, |_, _| format!("The rule {rule} is removed.\n"))
        }
    }
}

async fn all(
    client: &Client,
    channel: Option<&ConnectorId>,
) -> Result<Page<RouterRule>, palyra_client::ClientError> {
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let page = client.rules(channel, all.next.take()).await?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() {
            return Ok(all);
        }
    }
}

fn text(out: &Output, rule: &RouterRule) -> String {
    let mut text = format!("{} for {}\n", rule.id, printable(rule.channel.as_str()));
    for (name, value) in fields_of(&rule.rule) {
        text.push_str(&format!("  {name} = {}\n", printable(&value.to_string())));
    }
    for warning in &rule.warnings {
        text.push_str(&format!(
            "  {}: {}\n",
            out.paint(Tone::Doubtful, "note"),
            printable(warning)
        ));
    }
    text
}

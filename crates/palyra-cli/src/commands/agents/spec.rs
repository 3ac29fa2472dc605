//! What an agent is, as it is given and shown.

use std::path::{Path, PathBuf};

use palyra_common::agent::{AgentSpec, Cap, MAX_INSTRUCTIONS_BYTES};
use palyra_common::api::Agent;
use serde_json::Value;

use crate::count;
use crate::failure::Failure;
use crate::fields::{field, with_fields};
use crate::files;
use crate::output::{Output, printable};
use crate::table::Table;

#[cfg(test)]
mod tests;

/// What is said about an agent.
#[derive(Debug, clap::Args)]
pub(super) struct SpecArguments {
    /// What it is: name, instructions, models, tools, limits.turns, limits.tool_calls,
    /// limits.active, limits.cap.tokens, budgets.day.micros, …
    #[arg(value_name = "FIELD=VALUE", value_parser = field)]
    fields: Vec<(String, Value)>,
    /// Take the instructions from a file
    #[arg(long, value_name = "FILE")]
    instructions_file: Option<PathBuf>,
}

impl SpecArguments {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.instructions_file.is_none()
    }

    /// `was` with all that is said.
    pub(super) fn of(self, was: &AgentSpec) -> Result<AgentSpec, Failure> {
        let fields = self.fields.into_iter().map(|(name, value)| {
            let value = listed(&name, value);
            (name, value)
        });
        let mut spec = with_fields("agent", was, fields.collect())?;
        if let Some(file) = self.instructions_file {
            spec.instructions = instructions(&file)?;
        }
        spec.check().map_err(Failure::asked)?;
        Ok(spec)
    }
}

fn instructions(file: &Path) -> Result<String, Failure> {
    files::read_bounded(file, MAX_INSTRUCTIONS_BYTES as u64).map(|text| text.trim_end().to_owned())
}

/// Names with commas between them are a list, where a list belongs.
fn listed(name: &str, value: Value) -> Value {
    match value {
        Value::String(names) if matches!(name, "models" | "tools") => {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(Value::from).collect()
        }
        value => value,
    }
}

/// What an agent thinks with.
pub(super) fn models(spec: &AgentSpec) -> String {
    if spec.models.is_empty() { "models.default".to_owned() } else { joined(&spec.models) }
}

pub(super) fn joined<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

pub(super) fn text(out: &Output, agent: &Agent) -> String {
    let Agent { id, spec, version, changed_at, .. } = agent;
    let mut text = format!("{} is {}\n", printable(id.as_str()), printable(&spec.name));
    let mut table = Table::of_fields();
    table.field("models", models(spec));
    table.field("tools", joined(&spec.tools));
    let limits = &spec.limits;
    let turns = count::of(limits.turns.into(), "turn", "turns");
    let calls = count::of(limits.tool_calls.into(), "tool call", "tool calls");
    let run = format!("{turns}, {calls}, {}", limits.active);
    table.field("a run has at most", run + &cap(&limits.cap, ", "));
    table.field("it reads at most", format!("{} tokens", limits.context_tokens));
    table.field("it writes at most", format!("{} tokens", limits.output_tokens));
    for (what, budget) in [
        ("budget of a session", &spec.budgets.session),
        ("budget of a day", &spec.budgets.day),
        ("budget of all time", &spec.budgets.agent),
    ] {
        let told = cap(budget, "");
        table.field(what, if told.is_empty() { "–".to_owned() } else { told });
    }
    table.field("version", format!("{version}, of {changed_at}"));
    text += &table.render(out);
    text += "  instructions\n";
    let line = |line: &str| format!("    {}\n", printable(line));
    text + &spec.instructions.lines().map(line).collect::<String>()
}

fn cap(cap: &Cap, before: &str) -> String {
    let tokens = cap.tokens.map(|tokens| count::of(tokens, "token", "tokens"));
    let money = cap.micros.map(crate::money::dollars);
    let all: Vec<_> = tokens.into_iter().chain(money).collect();
    if all.is_empty() { String::new() } else { before.to_owned() + &all.join(", ") }
}

//! The tools that there are.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use palyra_common::agent::AgentSpec;
use palyra_models::{ToolSpec, provider_name};
use serde_json::Value;

use super::{Tool, ToolFault, ToolInfo};

/// How many faults of arguments are told at once.
const TOLD_FAULTS: usize = 5;

/// Tools by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Toolbox(Arc<BTreeMap<&'static str, Entry>>);

struct Entry {
    tool: Arc<dyn Tool>,
    info: ToolInfo,
    /// Made when it is first needed: it is large, and an idle daemon needs none.
    schema: OnceLock<Result<jsonschema::Validator, String>>,
}

impl Entry {
    fn schema(&self) -> Result<&jsonschema::Validator, String> {
        let make = || {
            jsonschema::validator_for(&self.info.input_schema).map_err(|error| {
                format!("the schema of {} cannot be used: {error}", self.info.name)
            })
        };
        self.schema.get_or_init(make).as_ref().map_err(Clone::clone)
    }
}

impl Toolbox {
    /// These tools. The error names one that is there twice.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, String> {
        let mut entries = BTreeMap::new();
        for tool in tools {
            let info = tool.info();
            let name = info.name;
            let schema = OnceLock::new();
            if entries.insert(name, Entry { tool, info, schema }).is_some() {
                return Err(format!("there are two tools called {name}"));
            }
        }
        Ok(Self(Arc::new(entries)))
    }

    /// Whether every schema is one. The error names one that is none.
    pub fn verify(&self) -> Result<(), String> {
        self.0.values().try_for_each(|entry| entry.schema().map(drop))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.get(name).map(|entry| entry.tool.clone())
    }

    /// The tool that a model would take for one of this name.
    pub fn like(&self, name: &str) -> Option<&'static str> {
        let is_like = |ours: &&&'static str| **ours == name || provider_name(ours) == name;
        self.0.keys().find(is_like).copied()
    }

    /// What a model is told about the tools that an agent may use.
    pub fn offered(&self, agent: &AgentSpec) -> Vec<ToolSpec> {
        let allowed = self.0.values().filter(|entry| agent.may_use(entry.info.name));
        let spec = |entry: &Entry| ToolSpec {
            name: entry.info.name.to_owned(),
            description: entry.info.description.to_owned(),
            input_schema: entry.info.input_schema.clone(),
        };
        allowed.map(spec).collect()
    }

    /// Whether arguments are what a tool takes.
    pub fn check(&self, name: &str, arguments: &Value) -> Result<(), ToolFault> {
        let Some(entry) = self.0.get(name) else {
            return Err(ToolFault::new(format!("there is no tool {name}")));
        };
        let schema = entry.schema().map_err(ToolFault::new)?;
        let faults: Vec<_> = schema
            .iter_errors(arguments)
            .take(TOLD_FAULTS)
            .map(|fault| {
                let path = fault.instance_path().to_string();
                let place = if path.is_empty() { "the arguments".to_owned() } else { path };
                format!("{place}: {fault}")
            })
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(ToolFault::new(faults.join("; "))) }
    }
}

//! The tools that there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use palyra_common::agent::AgentSpec;
use palyra_models::ToolSpec;
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
    schema: jsonschema::Validator,
}

impl Toolbox {
    /// These tools. The error names one whose schema is none, or that is there twice.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, String> {
        let mut entries = BTreeMap::new();
        for tool in tools {
            let info = tool.info();
            let name = info.name;
            let schema = jsonschema::validator_for(&info.input_schema)
                .map_err(|error| format!("the schema of {name} cannot be used: {error}"))?;
            if entries.insert(name, Entry { tool, info, schema }).is_some() {
                return Err(format!("there are two tools called {name}"));
            }
        }
        Ok(Self(Arc::new(entries)))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.get(name).map(|entry| entry.tool.clone())
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
        let faults: Vec<_> = entry
            .schema
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

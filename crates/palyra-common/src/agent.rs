//! Who does the work: what an operator says about an agent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::serde_number::{whole_large, whole_number};
use crate::serde_object::object;
use crate::time::Duration;

/// The longest instructions, in bytes.
pub const MAX_INSTRUCTIONS_BYTES: usize = 64 * 1024;

/// What an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AgentSpec {
    /// What people call it.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 128))]
    pub name: String,
    /// What it is told before everything else.
    #[cfg_attr(feature = "openapi", schema(max_length = 65_536))]
    pub instructions: String,
    /// Which models it thinks with, in the order in which they are asked. None: those of
    /// `models.default` in the configuration.
    #[cfg_attr(feature = "openapi", schema(max_items = 8))]
    pub models: Vec<String>,
    /// Which tools it may use: a name, all of a family (`fs.*`), or all (`*`).
    // A name that is given twice is taken once, so for the API it is a list.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>, max_items = 128))]
    pub tools: BTreeSet<String>,
    /// How much one run may do.
    #[serde(deserialize_with = "object")]
    pub limits: RunLimits,
    /// How much all of its runs may use.
    #[serde(deserialize_with = "object")]
    pub budgets: Budgets,
}

/// How much one run may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Turns of the model.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000))]
    pub turns: u32,
    /// Calls of tools.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 10_000))]
    pub tool_calls: u32,
    /// How long it may work, waiting not counted.
    pub active: Duration,
    /// What it may use, with all that work for it.
    #[serde(deserialize_with = "object")]
    pub cap: Cap,
    /// How much of the conversation a model gets to see, in tokens.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 256, maximum = 2_000_000))]
    pub context_tokens: u64,
    /// The longest answer, in tokens.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 16, maximum = 200_000))]
    pub output_tokens: u64,
}

/// What all runs together may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// Those of one session.
    #[serde(deserialize_with = "object")]
    pub session: Cap,
    /// All of them.
    #[serde(deserialize_with = "object")]
    pub agent: Cap,
    /// All of them on one day, which ends at midnight UTC.
    #[serde(deserialize_with = "object")]
    pub day: Cap,
}

/// The largest cap: every reader of JSON can hold it.
const MAX_CAP: u64 = 9_007_199_254_740_991;

/// The most that may be used; nothing: there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_large")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_large")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub micros: Option<u64>,
}

impl Default for AgentSpec {
    fn default() -> Self {
        Self {
            name: "Palyra".to_owned(),
            instructions: "You are a helpful assistant. Be brief and say what you did.".to_owned(),
            models: Vec::new(),
            tools: BTreeSet::from(["*".to_owned()]),
            limits: RunLimits::default(),
            budgets: Budgets::default(),
        }
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            turns: 24,
            tool_calls: 48,
            active: Duration::from_mins(15),
            cap: Cap::default(),
            context_tokens: 32_000,
            output_tokens: 4_096,
        }
    }
}

impl AgentSpec {
    /// Whether the agent may use a tool.
    pub fn may_use(&self, tool: &str) -> bool {
        self.tools.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(family) => tool.starts_with(family),
            None => allowed == tool,
        })
    }

    /// What is wrong with it, in words.
    pub fn check(&self) -> Result<(), String> {
        let name = self.name.trim();
        if name.is_empty() || name.chars().count() > 128 {
            return Err("the name of an agent has from 1 to 128 characters".to_owned());
        }
        if self.instructions.len() > MAX_INSTRUCTIONS_BYTES {
            return Err(format!("instructions have at most {MAX_INSTRUCTIONS_BYTES} bytes"));
        }
        if self.models.len() > 8 {
            return Err("an agent thinks with at most 8 models".to_owned());
        }
        let (limits, budgets) = (&self.limits, &self.budgets);
        let caps = [limits.cap, budgets.session, budgets.agent, budgets.day];
        let numbers = caps.iter().flat_map(|cap| [cap.tokens, cap.micros]).flatten();
        if numbers.max().is_some_and(|most| most > MAX_CAP) {
            return Err(format!("tokens and micros of a cap are at most {MAX_CAP}"));
        }
        if limits.turns == 0 || limits.turns > 1_000 || limits.tool_calls > 10_000 {
            return Err("a run has from 1 to 1,000 turns and at most 10,000 tool calls".to_owned());
        }
        if !(256..=2_000_000).contains(&limits.context_tokens)
            || !(16..=200_000).contains(&limits.output_tokens)
        {
            let what = "context_tokens is from 256 to 2,000,000, output_tokens from 16 to 200,000";
            return Err(what.to_owned());
        }
        Ok(())
    }
}

impl Cap {
    /// Whether there is a limit at all.
    pub fn is_some(&self) -> bool {
        self.tokens.is_some() || self.micros.is_some()
    }
}

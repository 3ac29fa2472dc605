use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Call;
use crate::runtime_contracts::Trust;
use crate::text::each_in;

/// What whoever began a run brought with them: what was said before, and tools of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Brought {
    /// Who.
    pub sender: String,
    /// What was said before, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<BroughtMessage>,
    /// Tools whose calls they make themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<BroughtTool>,
    /// How many tokens an answer may have, if fewer than the agent allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How much chance plays a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

/// Something that was said before a run, by what they say who began it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum BroughtMessage {
    /// What somebody said to the agent.
    User {
        /// Their words.
        text: String,
        /// Pictures that they have shown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<BroughtImage>,
        /// How far it is trusted.
        trust: Trust,
    },
    /// What the program says that stands between them and the agent. It never reaches the system role.
    Program {
        /// Its words.
        text: String,
        /// How far they are trusted.
        trust: Trust,
    },
    /// What the agent said.
    Assistant {
        /// Its words.
        text: String,
        /// What it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// How far that is trusted.
        trust: Trust,
    },
    /// What came of a call.
    Tool {
        /// Which call.
        call: String,
        /// What the tool said.
        content: String,
        /// How far that is trusted.
        trust: Trust,
    },
}

impl BroughtMessage {
    /// How far it is trusted.
    pub fn trust(&self) -> Trust {
        match self {
            Self::User { trust, .. }
            | Self::Program { trust, .. }
            | Self::Assistant { trust, .. }
            | Self::Tool { trust, .. } => *trust,
        }
    }
}

/// A picture that the run keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BroughtImage {
    /// What kind: `image/png`.
    pub media_type: String,
    /// Where it is: its SHA-256.
    pub blob: String,
}

/// A tool of whoever began a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BroughtTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

impl Brought {
    /// How far its least trusted text is trusted.
    pub fn trust(&self) -> Trust {
        self.messages.iter().map(BroughtMessage::trust).max().unwrap_or(Trust::Operator)
    }

    /// Shows every text in it to whoever may change it.
    pub fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.sender);
        for message in &mut self.messages {
            match message {
                BroughtMessage::User { text, .. } | BroughtMessage::Program { text, .. } => {
                    change(text);
                }
                BroughtMessage::Assistant { text, calls, .. } => {
                    change(text);
                    calls.iter_mut().for_each(|call| change(&mut call.arguments));
                }
                BroughtMessage::Tool { content, .. } => change(content),
            }
        }
        for tool in &mut self.tools {
            change(&mut tool.description);
            each_in(&mut tool.parameters, change);
        }
    }
}

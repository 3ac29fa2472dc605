//! What is asked and what is answered, as values that can be kept.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// A question to a model, with all that it is to know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model, as its provider calls it.
    pub model: String,
    /// Instructions of the operator. Nothing of a user or a tool belongs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation, oldest first.
    pub turns: Vec<Turn>,
    /// What the model may ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// How long the answer may be.
    pub max_output_tokens: u32,
    /// How much chance plays a part. None: as the provider likes. Anthropic does not take any wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "role")]
pub enum Turn {
    /// What somebody said to the agent.
    User {
        /// Its parts, in order.
        parts: Vec<Part>,
    },
    /// What a model said.
    Assistant {
        /// Its text; may be empty where there are calls.
        text: String,
        /// What it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What came of the calls of the turn before.
    ToolResults {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

/// A part of what somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// What kind of picture.
        media_type: MediaType,
        /// The file itself; in JSON as base64.
        #[serde(with = "base64_text")]
        bytes: Bytes,
    },
}

/// The kinds of pictures that all providers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    /// `image/png`
    #[serde(rename = "image/png")]
    Png,
    /// `image/jpeg`
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// `image/gif`
    #[serde(rename = "image/gif")]
    Gif,
    /// `image/webp`
    #[serde(rename = "image/webp")]
    Webp,
}

impl MediaType {
    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// A wish of the model to have a tool used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What the result refers to; unique within an answer.
    pub id: String,
    /// The tool; there may be none of that name.
    pub name: String,
    /// What the model wrote, which need not be JSON.
    pub arguments: String,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Of which call.
    pub call_id: String,
    /// What the tool said.
    pub content: String,
    /// Whether it was done.
    pub outcome: ToolOutcome,
}

/// Whether a tool did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did.
    Done,
    /// It did not, or was not allowed to; the content says why.
    Failed,
}

/// A tool that a model may ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name, such as `fs.read`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub input_schema: Value,
}

/// An answer as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Its text.
    pub text: String,
    /// What the model asks for.
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: FinishReason,
    /// What it took. Counted by us where the provider does not say.
    pub usage: Usage,
    /// The model that answered, as the provider calls it.
    pub model: String,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was all.
    Stop,
    /// Tools are to be used first.
    ToolCalls,
    /// It was as long as it may be; the end is missing.
    Length,
    /// The model, or what watches over it, does not want to.
    Refused,
}

/// What an answer took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All that was read, also from a cache.
    pub input_tokens: u64,
    /// What was written.
    pub output_tokens: u64,
    /// What of the input came from a cache.
    pub cached_input_tokens: u64,
}

impl Part {
    /// Words as a part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Its words, if it has any.
    pub(crate) fn words(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } => None,
        }
    }
}

impl Turn {
    /// A user's turn of words alone.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![Part::text(text)] }
    }
}

impl ModelRequest {
    /// Every text of it, to look for in what must not repeat it.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = self.system.as_deref().into_iter().collect();
        for turn in &self.turns {
            match turn {
                Turn::User { parts } => texts.extend(parts.iter().filter_map(Part::words)),
                Turn::Assistant { text, calls } => {
                    texts.push(text);
                    texts.extend(calls.iter().map(|call| call.arguments.as_str()));
                }
                Turn::ToolResults { results } => {
                    texts.extend(results.iter().map(|result| result.content.as_str()));
                }
            }
        }
        texts
    }
}

mod base64_text {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Bytes::from).map_err(|_| D::Error::custom("expected base64"))
    }
}

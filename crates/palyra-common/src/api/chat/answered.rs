use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asked::{ChatCall, ChatFunctionCall, ChatRole};

/// An answer as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatCompletion {
    /// `chatcmpl-` and the id of the run that has answered.
    pub id: String,
    /// `chat.completion`.
    pub object: String,
    /// When the run began, in seconds.
    pub created: i64,
    /// The agent.
    pub model: String,
    /// One answer.
    pub choices: Vec<ChatChoice>,
    /// What it took.
    pub usage: ChatUsage,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatChoice {
    /// 0.
    pub index: u32,
    /// What the agent said.
    pub message: ChatAnswer,
    /// Why it ended.
    pub finish_reason: ChatFinish,
    /// Always null.
    pub logprobs: Option<Value>,
}

/// What an agent said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatAnswer {
    /// `assistant`.
    pub role: ChatRole,
    /// Its words; null where it only asks for tools.
    pub content: Option<String>,
    /// Always null.
    pub refusal: Option<String>,
    /// Tools that whoever asked is to use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ChatCall>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChatFinish {
    /// It was all.
    Stop,
    /// It is as long as it may be, or a limit of the run is reached.
    Length,
    /// Whoever asked is to use tools, and to come back with what came of it.
    ToolCalls,
    /// The model refused.
    ContentFilter,
}

/// What an answer took, by what its models say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatUsage {
    /// Tokens that models read, in all turns of the run.
    pub prompt_tokens: u64,
    /// Tokens that they wrote.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatChunk {
    /// `chatcmpl-` and the id of the run.
    pub id: String,
    /// `chat.completion.chunk`.
    pub object: String,
    /// When the run began, in seconds.
    pub created: i64,
    /// The agent.
    pub model: String,
    /// One piece, or none where only the usage is told.
    pub choices: Vec<ChatPiece>,
    /// What the answer took; in its last piece, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChatUsage>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatPiece {
    /// 0.
    pub index: u32,
    /// What comes behind what came before.
    pub delta: ChatDelta,
    /// Why it ended, at its end.
    pub finish_reason: Option<ChatFinish>,
}

/// What comes behind what came before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatDelta {
    /// Who says it, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ChatRole>,
    /// Words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls, each as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ChatCallPiece>,
}

/// A call in a piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatCallPiece {
    /// Its place among the calls of the answer.
    pub index: u32,
    /// What its result refers to.
    pub id: String,
    /// `function`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of what.
    pub function: ChatFunctionCall,
}

/// The agents that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatModels {
    /// `list`.
    pub object: String,
    /// Each of them.
    pub data: Vec<ChatModel>,
}

/// An agent that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatModel {
    /// Its id: the `model` of a request.
    pub id: String,
    /// `model`.
    pub object: String,
    /// When it was made, in seconds.
    pub created: i64,
    /// `palyra`.
    pub owned_by: String,
}

/// An error as the clients of OpenAI read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatError {
    /// What went wrong.
    pub error: ChatErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatErrorBody {
    /// What failed, and what to do about it.
    pub message: String,
    /// Its kind, as these clients know them: `invalid_request_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Always null: the message names what is at fault.
    pub param: Option<String>,
    /// Our stable code.
    pub code: String,
    /// Facts for programs, such as the run and the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

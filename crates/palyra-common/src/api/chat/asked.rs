use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A conversation to be answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatRequest {
    /// The agent that answers, by its id.
    pub model: String,
    /// What was said so far, the oldest first. With a session that is kept, what comes behind the last
    /// answer is said, and the rest is there already.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 2_048))]
    pub messages: Vec<ChatMessage>,
    /// Whether the answer comes in pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// How they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<ChatStreamOptions>,
    /// How many tokens the answer may have, at most as many as the agent allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub max_completion_tokens: Option<u32>,
    /// The same by its older name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub max_tokens: Option<u32>,
    /// How much chance plays a part, where the model takes a wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 2))]
    pub temperature: Option<f32>,
    /// How many answers: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The name of a session that is kept, where no `X-Palyra-Session` gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub user: Option<String>,
    /// Tools whose calls whoever asks makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 128))]
    pub tools: Option<Vec<ChatTool>>,
    /// `auto` or `none`: whether these are offered to the model. That it has to use one cannot be asked
    /// for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// That it asks for one call at a time cannot be asked for: leave it out, or say true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Only text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
    /// Cannot be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Value>,
    /// Cannot be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<bool>,
    /// Cannot be asked for: `tools` has taken its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Value>,
    /// Only text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modalities: Option<Vec<String>>,
}

/// How pieces of an answer come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatStreamOptions {
    /// Whether the last piece tells what the answer took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatMessage {
    /// By whom.
    pub role: ChatRole,
    /// What.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ChatContent>,
    /// What the assistant asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ChatCall>>,
    /// The call whose result it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The program that asks.
    System,
    /// The same by its newer name.
    Developer,
    /// Whoever talks to the agent.
    User,
    /// The agent.
    Assistant,
    /// A tool.
    Tool,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum ChatContent {
    /// Words.
    Text(String),
    /// Words and pictures.
    Parts(Vec<ChatPart>),
}

/// A part of what is said: words, or a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatPart {
    /// `text` or `image_url`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_url: Option<ChatImage>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatImage {
    /// The file itself, as `data:image/png;base64,…`; PNG, JPEG, GIF and WebP are taken. Nothing is
    /// fetched from elsewhere.
    pub url: String,
}

/// A call that the assistant has asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatCall {
    /// What its result refers to.
    pub id: String,
    /// `function`.
    #[serde(rename = "type", default = "function")]
    pub kind: String,
    /// Of what.
    pub function: ChatFunctionCall,
}

/// The call of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatFunctionCall {
    /// Which one.
    pub name: String,
    /// With what: JSON, as far as the model wrote some.
    pub arguments: String,
}

/// A tool of whoever asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatTool {
    /// `function`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is.
    pub function: ChatFunction,
}

/// A function that a model may ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatFunction {
    /// Its name, which no tool of the agent has.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, an object; without it, it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

fn function() -> String {
    "function".to_owned()
}

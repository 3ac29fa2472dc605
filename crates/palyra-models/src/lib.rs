//! Models: asking one for an answer, whoever provides it.
//!
//! - [`ModelProvider`]: the port. [`ModelRequest`] goes in; text comes out piece by piece through a
//!   [`DeltaSink`], and the whole as a [`Completion`] or a [`ModelError`] that says whether to try
//!   again. All of these are values that a tape can keep, but for the sink.
//! - [`Offline`]: a model that is none: a few rules, always there, and it costs nothing. The others
//!   speak over HTTP, in the dialect of OpenAI or of Anthropic ([`ProviderKind`]).
//! - [`Models`]: what [`ModelsConfig`] describes. It takes the next model of a list where the one
//!   before cannot be had, and leaves a provider alone that keeps failing. It does not try again:
//!   that is a row of whoever asks.
//! - [`SecretSource`]: where keys come from, asked at each call.
//! - [`count_tokens`], [`cost`]: what a text weighs and what an answer costs.
//! - [`marked`]: how a text of others is marked in what a model reads.
//!
//! What a user or a tool said never reaches the system role: a dialect puts there
//! [`ModelRequest::system`] and nothing else.

#![warn(missing_docs)]

mod answer;
mod config;
mod dialect;
mod error;
mod mark;
mod models;
mod names;
mod offline;
mod port;
mod price;
mod remote;
mod request;
mod secret;
mod tokens;

pub use config::{ModelEntryConfig, ModelProviderConfig, ModelsConfig, ProviderKind};
pub use error::{ModelError, Problem, Said};
pub use mark::marked;
pub use models::{
    Answer, Capabilities, ModelInfo, ModelName, ModelNameError, Models, Next, Owed, PassedOver,
    ProviderState, ProviderStatus, Unanswered,
};
pub use names::provider_name;
pub use offline::{OFFLINE, Offline};
pub use port::{Delta, DeltaSink, ModelProvider, Unheard};
pub use price::{MicroUsd, Price, cost};
pub use request::{
    Completion, FinishReason, MediaType, ModelRequest, Part, ToolCall, ToolOutcome, ToolResult,
    ToolSpec, Turn, Usage,
};
pub use secret::{ApiKey, SecretError, SecretRef, SecretSource};
pub use tokens::{IMAGE_TOKENS, count_request, count_tokens};

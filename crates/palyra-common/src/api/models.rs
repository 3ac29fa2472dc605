//! `/admin/v1/models`: `GET` lists; `/{name}/test`: `POST` asks one something small.

use serde::{Deserialize, Serialize};

use crate::runtime_contracts::ModelLatency;
use crate::time::Duration;

/// A model that agents can think with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Model {
    /// The name by which agents call it.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// What the provider calls it.
    pub model: String,
    /// How many tokens it can take, its answer included.
    pub context_tokens: u32,
    /// How many tokens an answer may have.
    pub max_output_tokens: u32,
    /// What a million tokens cost.
    pub price: ModelPrice,
    /// Whether it uses tools.
    pub tools: bool,
    /// Whether it looks at pictures.
    pub images: bool,
    /// How soon it answers, compared with others.
    #[serde(default = "normal")]
    pub latency: ModelLatency,
    /// How its provider does.
    pub state: ModelState,
    /// How long its provider is left alone, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

/// Of what does not say it.
fn normal() -> ModelLatency {
    ModelLatency::Normal
}

/// What a million tokens cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelPrice {
    /// To be read.
    pub input_micros: u64,
    /// To be read from the provider's cache.
    pub cached_input_micros: u64,
    /// To be written.
    pub output_micros: u64,
}

/// How a provider does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelState {
    /// It is asked.
    Open,
    /// It kept failing, or wants to be left alone: it is not asked for a while.
    Paused,
    /// One call tries whether it is well again.
    Trying,
}

/// What came of asking a model something small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelTested {
    /// The model that was asked.
    pub name: String,
    /// Whether it answered.
    pub ok: bool,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Why there is none, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took until the first piece, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_piece_ms: Option<u64>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar.
    pub cost_micros: u64,
}

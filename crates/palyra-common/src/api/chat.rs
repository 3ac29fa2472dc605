//! `/v1`: what the clients that there are for OpenAI say and expect. `POST /v1/chat/completions` asks
//! an agent; `GET /v1/models` and `/v1/models/{id}` tell which agents there are.
//!
//! The shapes are OpenAI's as far as a chat with words, pictures and tools needs them. What a client
//! sends besides is passed over.

mod answered;
mod asked;

pub use answered::{
    ChatAnswer, ChatCallPiece, ChatChoice, ChatChunk, ChatCompletion, ChatDelta, ChatError,
    ChatErrorBody, ChatFinish, ChatModel, ChatModels, ChatPiece, ChatUsage,
};
pub use asked::{
    ChatCall, ChatContent, ChatFunction, ChatFunctionCall, ChatImage, ChatMessage, ChatPart,
    ChatRequest, ChatRole, ChatStreamOptions, ChatTool,
};

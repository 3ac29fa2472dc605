//! How long a text is for a model.

use crate::request::{ModelRequest, Part, ToolSpec, Turn};

#[cfg(test)]
mod tests;

/// What a picture counts as: about what the larger ones take with the providers that say so.
pub const IMAGE_TOKENS: u64 = 1_600;

/// What roles and borders take with each turn, call, result and tool.
const FRAME_TOKENS: u64 = 4;

/// How many tokens a text has, by the encoding `cl100k_base`.
///
/// Exact for some models and an estimate for others, which mostly differ by less than a quarter. The
/// time is linear in the length, whatever the text: some 35 ms for a megabyte, so that a caller with
/// longer texts does not do it on an async thread. The first call loads the table, about 30 ms and
/// 32 MB, which stay.
pub fn count_tokens(text: &str) -> u64 {
    bpe_openai::cl100k_base().count(text) as u64
}

/// How many tokens a request has, pictures as [`IMAGE_TOKENS`] each.
pub fn count_request(request: &ModelRequest) -> u64 {
    let system = request.system.as_deref().map_or(0, framed);
    let turns = request.turns.iter().map(count_turn).sum::<u64>();
    let tools = request.tools.iter().map(count_tool).sum::<u64>();
    system + turns + tools + FRAME_TOKENS
}

fn framed(text: &str) -> u64 {
    count_tokens(text) + FRAME_TOKENS
}

fn count_turn(turn: &Turn) -> u64 {
    let parts = match turn {
        Turn::User { parts } => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => count_tokens(text),
                Part::Image { .. } => IMAGE_TOKENS,
            })
            .sum(),
        Turn::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| framed(&call.name) + framed(&call.arguments));
            count_tokens(text) + calls.sum::<u64>()
        }
        Turn::ToolResults { results } => results.iter().map(|result| framed(&result.content)).sum(),
    };
    parts + FRAME_TOKENS
}

fn count_tool(tool: &ToolSpec) -> u64 {
    let schema = tool.input_schema.to_string();
    framed(&tool.name) + count_tokens(&tool.description) + count_tokens(&schema)
}

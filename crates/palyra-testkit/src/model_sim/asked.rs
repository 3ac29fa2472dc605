//! What was asked of the simulator.

use serde_json::Value;

/// How a request was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `/v1/chat/completions`
    OpenAi,
    /// `/v1/messages`
    Anthropic,
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// How it was written.
    pub dialect: Dialect,
    /// The key that it carried.
    pub key: Option<String>,
    /// All of it.
    pub body: Value,
}

/// The last thing that was said.
pub(super) enum Last {
    User(String),
    Results(Vec<String>),
}

impl Asked {
    /// The names of the tools that are offered.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |tool: &Value| {
            let of = tool.get("function").unwrap_or(tool);
            of["name"].as_str().map(str::to_owned)
        };
        tools.iter().filter_map(name).collect()
    }

    pub(super) fn is_streamed(&self) -> bool {
        self.body["stream"] == true
    }

    pub(super) fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn last(&self) -> Last {
        let Some(last) = self.messages().last() else { return Last::User(String::new()) };
        let content = &last["content"];
        if last["role"] == "tool" {
            return Last::Results(vec![text(content)]);
        }
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let results: Vec<String> = blocks
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| text(&block["content"]))
            .collect();
        if results.is_empty() { Last::User(text(content)) } else { Last::Results(results) }
    }
}

/// The words of a content, which is a text or a list of parts.
fn text(content: &Value) -> String {
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let words = parts.iter().filter_map(|part| part["text"].as_str());
    content.as_str().map_or_else(|| words.collect::<Vec<_>>().join("\n"), str::to_owned)
}

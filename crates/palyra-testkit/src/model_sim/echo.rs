//! What the simulator says when nobody told it what to say.

use super::asked::{Asked, Last};
use super::reply::Reply;

/// Says what was said; calls a tool for each line `use TOOL {json}` of the last message, and says what
/// tools gave.
pub fn echo(asked: &Asked) -> Reply {
    let said = match asked.last() {
        Last::Results(results) => {
            return Reply::text(format!("The tool said: {}", results.join("; ")));
        }
        Last::User(said) => said,
    };
    let tools = asked.tools();
    let mut reply = Reply::default();
    for line in said.lines() {
        let Some(wish) = line.trim().strip_prefix("use ") else { continue };
        let (name, arguments) = wish.split_once(' ').unwrap_or((wish, "{}"));
        match tools.iter().find(|tool| **tool == name || **tool == safe(name)) {
            Some(tool) => reply = reply.raw_call(tool, arguments.trim()),
            None => reply.text.push_str(&format!("There is no tool {name}. ")),
        }
    }
    if reply.calls.is_empty() && reply.text.is_empty() {
        reply.text = format!("You said: {said}");
    }
    reply
}

/// A name as it may have been sent.
fn safe(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

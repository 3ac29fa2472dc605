//! The lines that the offline model understands.

use serde_json::{Value, json};

/// Each with the tool that it needs.
pub(super) const HELP: &[(&str, &str)] = &[
    ("use TOOL {json}", ""),
    ("fetch URL", "http.fetch"),
    ("read FILE", "fs.read"),
    ("write FILE: TEXT", "fs.write"),
    ("what time is it", "time.now"),
    ("remember that FACT", "memory.remember"),
    ("what do you know about TOPIC", "memory.search"),
    ("show a card about TOPIC", "ui.show"),
];

/// More in one message are left out.
const MOST: usize = 16;

/// A wish for a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// The wishes of a message, one for each line that is one. A text that is to be written goes on to
/// the end of the message.
pub(super) fn read(said: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut rest = said;
    while !rest.is_empty() && commands.len() < MOST {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if let Some(written) = after_words(line, "write").and_then(|_| write(rest)) {
            commands.push(written);
            break;
        }
        commands.extend(command(line));
        rest = after;
    }
    commands
}

fn command(line: &str) -> Option<Command> {
    if let Some(wish) = after_words(line, "use") {
        let (tool, arguments) = wish.split_once(char::is_whitespace).unwrap_or((wish, "{}"));
        // As it was said, also where it is no JSON: whoever tries that wants to see what happens.
        return Some(Command { tool: tool.into(), arguments: arguments.trim().into() });
    }
    if words(line) == ["what", "time", "is", "it"] {
        return Some(call("time.now", &json!({})));
    }
    if let Some(topic) = after_words(line, "show a card about") {
        let thanks = json!({"label": "Thanks", "action": "thanks"});
        let text = "The offline model made this card. What is pressed on it comes back to it.";
        return Some(call("ui.show", &json!({"title": topic, "text": text, "buttons": [thanks]})));
    }
    let rules: [(&str, &str, &str); 4] = [
        ("fetch", "http.fetch", "url"),
        ("read", "fs.read", "path"),
        ("remember that", "memory.remember", "text"),
        ("what do you know about", "memory.search", "query"),
    ];
    rules.iter().find_map(|(begins, tool, argument)| {
        let rest = after_words(line, begins)?;
        // An address or a file is one word; otherwise it is a sentence.
        let one_word = !rest.contains(char::is_whitespace);
        let fits = one_word || !matches!(*argument, "url" | "path");
        fits.then(|| call(tool, &json!({ *argument: rest.trim_end_matches('?') })))
    })
}

fn write(rest: &str) -> Option<Command> {
    let (head, text) = rest.split_once(':')?;
    let path = after_words(head, "write").filter(|path| !path.contains(char::is_whitespace))?;
    let content = text.strip_prefix(' ').unwrap_or(text);
    Some(call("fs.write", &json!({"path": path, "content": content})))
}

fn call(tool: &str, arguments: &Value) -> Command {
    Command { tool: tool.into(), arguments: arguments.to_string() }
}

/// What follows the words that a line begins with, in whatever case they are written.
fn after_words<'a>(line: &'a str, begins: &str) -> Option<&'a str> {
    let line = line.trim();
    let (head, rest) = line.split_at_checked(begins.len())?;
    let rest = rest.strip_prefix(char::is_whitespace)?.trim();
    (head.eq_ignore_ascii_case(begins) && !rest.is_empty()).then_some(rest)
}

/// Whether somebody only says hello, or asks for help.
pub(super) fn is_greeting(said: &str) -> bool {
    matches!(
        words(said).iter().map(String::as_str).collect::<Vec<_>>()[..],
        ["hello" | "hi" | "hey" | "help" | "hallo"] | ["what", "can", "you", "do"]
    )
}

fn words(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(8).map(str::to_lowercase).collect()
}

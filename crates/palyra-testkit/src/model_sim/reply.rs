//! What the simulator is told to answer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub(super) text: String,
    /// Name and arguments.
    pub(super) calls: Vec<(String, String)>,
    pub(super) usage: Option<[u64; 3]>,
    /// In the words of OpenAI; the other dialect has its own for the same.
    pub(super) finish: Option<&'static str>,
    pub(super) faults: Vec<Fault>,
    pub(super) quirks: Vec<Quirk>,
}

/// What goes wrong with an answer.
#[derive(Debug, Clone)]
pub enum Fault {
    /// An error in place of it.
    Status {
        /// Of HTTP.
        status: u16,
        /// The word for it.
        code: String,
        /// Some words about it.
        message: String,
        /// The header of this name, as it is.
        retry_after: Option<String>,
    },
    /// An error after the first piece of text.
    InStream {
        /// The word for it.
        code: String,
        /// Some words about it.
        message: String,
    },
    /// The connection ends after this many pieces of text.
    CutAfter(usize),
    /// A chunk that is no JSON after the first piece of text.
    Malformed,
    /// Text without end.
    Endless,
    /// Arguments of a tool without end.
    EndlessCall,
    /// One event without end.
    EndlessEvent,
    /// An answer that is no stream, and no JSON.
    NotAStream,
    /// Each event waits for leave.
    Gated(Gate),
    /// Each event waits for so long.
    Paced(Duration),
    /// The calls of the reply are not what was asked for; without any, one is made up.
    Wrong(Wrong),
}

/// What is wrong with a call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The arguments are no JSON.
    NotJson,
    /// The arguments are JSON, of other types.
    Types,
    /// There is no such tool.
    Unknown,
}

/// In what a server differs from the one that it imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quirk {
    /// It does not tell the usage.
    NoUsage,
    /// It tells the usage with the last choice and not after it.
    UsageWithLast,
    /// It ends without saying that this is the end.
    NoDone,
    /// It does not say why it ends, but that it does.
    NoFinish,
    /// Pieces of calls have no index.
    NoIndex,
    /// All calls have the index 0.
    SameIndex,
    /// Calls have no ids.
    NoIds,
    /// The arguments of a call are an object, and not a text.
    ObjectArguments,
    /// Chunks with a role and nothing else, and comments, stand between the others.
    Chatter,
}

/// Lets events of a gated answer through.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// One that lets nothing through yet.
    pub fn shut() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets `count` more events through.
    pub fn let_through(&self, count: usize) {
        self.0.add_permits(count);
    }

    pub(super) async fn pass(&self) {
        // It is never closed.
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Reply {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// An error.
    pub fn status(status: u16, code: &str, message: &str) -> Self {
        Self::default().with(Fault::Status {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
            retry_after: None,
        })
    }

    /// 429, with how long to wait.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::default().with(Fault::Status {
            status: 429,
            code: "rate_limit_error".into(),
            message: "too many requests".into(),
            retry_after: Some(retry_after.to_owned()),
        })
    }

    /// And a call of a tool.
    #[must_use]
    pub fn call(self, name: &str, arguments: &Value) -> Self {
        self.raw_call(name, &arguments.to_string())
    }

    /// And a call of a tool with arguments that may be anything.
    #[must_use]
    pub fn raw_call(mut self, name: &str, arguments: &str) -> Self {
        self.calls.push((name.to_owned(), arguments.to_owned()));
        self
    }

    /// With this usage: all input, output, and what of the input came from the cache.
    #[must_use]
    pub fn usage(self, input: u64, output: u64, cached: u64) -> Self {
        Self { usage: Some([input, output, cached]), ..self }
    }

    /// Ends for this reason: `stop`, `length`, `tool_calls` or `content_filter`.
    #[must_use]
    pub fn finish(self, reason: &'static str) -> Self {
        Self { finish: Some(reason), ..self }
    }

    /// Something goes wrong with it.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// As a peculiar server says it.
    #[must_use]
    pub fn quirk(mut self, quirk: Quirk) -> Self {
        self.quirks.push(quirk);
        self
    }

    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    pub(super) fn reason(&self) -> &'static str {
        let by_content = if self.calls.is_empty() { "stop" } else { "tool_calls" };
        self.finish.unwrap_or(by_content)
    }

    /// What was told, or about as much as there is.
    pub(super) fn tokens(&self, body: &Value) -> [u64; 3] {
        let about = |chars: usize| chars as u64 / 4 + 1;
        let calls: usize = self.calls.iter().map(|(name, of)| name.len() + of.len()).sum();
        let read = body["messages"].to_string().len();
        self.usage.unwrap_or([about(read), about(self.text.len() + calls), 0])
    }

    /// The calls as they are made, with what is wrong about them.
    pub(super) fn spoil(&mut self, first_tool: Option<String>) {
        let wrongs: Vec<Wrong> = self.faults.iter().filter_map(Fault::wrong).collect();
        let tool = first_tool.unwrap_or_else(|| "some_tool".into());
        for wrong in wrongs {
            if self.calls.is_empty() {
                self.calls.push((tool.clone(), "{}".into()));
            }
            for (name, arguments) in &mut self.calls {
                match wrong {
                    Wrong::NotJson => *arguments = "{\"path\": oops".into(),
                    Wrong::Types => *arguments = json!({"path": [1, {"a": null}]}).to_string(),
                    Wrong::Unknown => *name = "no_such_tool".into(),
                }
            }
        }
    }
}

impl Fault {
    fn wrong(&self) -> Option<Wrong> {
        match self {
            Self::Wrong(wrong) => Some(*wrong),
            _ => None,
        }
    }
}

/// The faults that have a name, for whoever tries them by hand.
impl FromStr for Fault {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let status = |status: u16, code: &str, retry_after: Option<&str>| Self::Status {
            status,
            code: code.into(),
            message: "by order".into(),
            retry_after: retry_after.map(str::to_owned),
        };
        Ok(match name {
            "slow" => Self::Paced(Duration::from_millis(300)),
            "cut" => Self::CutAfter(1),
            "429" => status(429, "rate_limit_error", Some("5")),
            "500" => status(500, "api_error", None),
            "529" => status(529, "overloaded_error", None),
            "malformed" => Self::Malformed,
            "endless" => Self::Endless,
            "endless-call" => Self::EndlessCall,
            "not-json" => Self::Wrong(Wrong::NotJson),
            "wrong-types" => Self::Wrong(Wrong::Types),
            "unknown-tool" => Self::Wrong(Wrong::Unknown),
            other => {
                anyhow::bail!("there is no fault {other}; there are {}", Self::NAMES.join(", "))
            }
        })
    }
}

impl Fault {
    /// The names of the faults that have one.
    pub const NAMES: [&str; 11] = [
        "slow",
        "cut",
        "429",
        "500",
        "529",
        "malformed",
        "endless",
        "endless-call",
        "not-json",
        "wrong-types",
        "unknown-tool",
    ];
}

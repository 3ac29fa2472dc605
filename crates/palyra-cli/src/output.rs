//! What is printed, and how.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use palyra_common::hint::Address;
use serde::Serialize;

use crate::failure::{Failure, Outcome};

#[cfg(test)]
mod tests;

/// For `palyra help output`.
pub(crate) const HELP: &str = "\
Output

Without --json a command prints text for people: it may change between versions. Colours and
progress are shown only on a terminal, and no colours when NO_COLOR is set.

With --json a command prints one JSON document to standard output, with the shape that the HTTP API
gives to the same thing (schemas/openapi/palyra.json). New fields may be added; none is renamed or
removed. Times are milliseconds since 1970-01-01T00:00:00Z.

An error goes to standard error, so standard output never holds one:

  {
    \"error\": {
      \"code\": \"common/not_found\",
      \"message\": \"…\",
      \"recovery_hint\": \"…\",
      \"retryable\": false
    }
  }

docs/errors.md lists the codes. `completions` and `daemon run` have no JSON form and refuse --json;
help is text in any case. `daemon logs --follow`, `runs tail` and `approvals watch` print one
document per line, and so does `runs export`, which has no other form. A check that finds faults
(doctor, audit verify, backup verify, deployment preflight, models test, runs replay) prints its
report to standard output as usual and exits with 7; so does `chat` when there is no answer.

With --json nobody is asked anything, also on a terminal: what needs an answer is refused without
--yes, and a secret is piped in.
";

/// A colour with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Doubtful,
    Bad,
    Quiet,
}

/// Standard output and standard error, and what may be written to them.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    json: bool,
    colour: bool,
    address: Address,
}

impl Output {
    pub(crate) fn new(json: bool, address: Address) -> Self {
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let colour = !json && !forbidden && std::io::stdout().is_terminal();
        Self { json, colour, address }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Refuses --json where nothing could be printed that is JSON.
    pub(crate) fn has_no_json(&self, what: &str) -> Outcome {
        if self.json {
            return Err(Failure::asked(format!("{what}; leave --json away")));
        }
        Ok(())
    }

    /// Prints `value` as JSON, or for people what `text` makes of it.
    pub(crate) fn show<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&Self, &T) -> String,
    ) -> Outcome {
        self.print(&self.form(value, text)?)
    }

    /// As [`Self::show`], for what is shown once: a pipe that was closed is an error, too.
    pub(crate) fn deliver<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&Self, &T) -> String,
    ) -> Result<(), String> {
        let form = self.form(value, text).map_err(|_| "it has no JSON form".to_owned())?;
        write_out(&form).map_err(|error| format!("standard output: {error}"))
    }

    /// As [`Self::show`], for one of many: as JSON it is one line. Says whether anybody reads on.
    pub(crate) fn show_next<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&Self, &T) -> String,
    ) -> Result<bool, Failure> {
        let form = if self.json {
            let line = serde_json::to_string(value);
            line.map_err(|error| no_json(&error))? + "\n"
        } else {
            self.form(value, text)?
        };
        match write_out(&form) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::file(Path::new("standard output"), error))
            }
            written => Ok(written.is_ok()),
        }
    }

    fn form<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&Self, &T) -> String,
    ) -> Result<String, Failure> {
        if !self.json {
            return Ok(self.complete(&text(self, value)).into_owned());
        }
        let document = serde_json::to_string_pretty(value).map_err(|error| no_json(&error))?;
        Ok(format!("{document}\n"))
    }

    /// `text` with commands that can be run as they stand.
    pub(crate) fn complete<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.address.complete(text)
    }

    /// The same for what is wrong with a credential.
    pub(crate) fn complete_there<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.address.complete_there(text)
    }

    /// Prints `text` as it is. Whoever has closed the pipe has seen enough: that is no failure.
    pub(crate) fn print(&self, text: &str) -> Outcome {
        match write_out(text) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::file(Path::new("standard output"), error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Says something beside the output, to people only.
    pub(crate) fn note(&self, text: &str) {
        if !self.json {
            self.tell(&format!("{}\n", self.complete(text)));
        }
    }

    /// Says something about the moment, to a person who watches.
    pub(crate) fn aside(&self, text: &str) {
        if std::io::stderr().is_terminal() {
            self.note(text);
        }
    }

    /// Writes to standard error. Nobody is left to tell if that is closed.
    pub(crate) fn tell(&self, text: &str) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Doubtful => "33",
            Tone::Bad => "31",
            Tone::Quiet => "2",
        };
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Shows on a terminal that work goes on; elsewhere nothing.
    pub(crate) fn progress(&self, template: &'static str) -> ProgressBar {
        let target =
            if self.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::no_length();
        bar.set_draw_target(target);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        bar
    }
}

fn no_json(error: &serde_json::Error) -> Failure {
    Failure::machine(format!("the answer has no JSON form: {error}"))
}

fn write_out(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// `text` without what would command a terminal or reorder what is read: names and messages come
/// from elsewhere.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let commands =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if commands(c) { c.escape_default().collect() } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// `text` in its lines, each [`printable`], with a newline at the end.
pub(crate) fn paragraphs(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(printable).collect::<Vec<_>>().join("\t") + "\n";
    match text.trim_end_matches('\n') {
        "" => "\n".to_owned(),
        text => text.split('\n').map(line).collect(),
    }
}

/// The beginning of `text` in one line, for a list.
pub(crate) fn short(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = line.char_indices().nth(chars).map(|(at, _)| format!("{}…", &line[..at]));
    printable(&cut.unwrap_or(line)).into_owned()
}

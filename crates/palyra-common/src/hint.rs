//! Commands that are named in what people are told: each can be run as it stands.

use std::borrow::Cow;

use crate::text::shell_word;

/// How a command is named: what is said about it and to be completed begins so.
const COMMAND: &str = "`palyra ";

/// What works on the machine of the daemon only, where there is no need for a host.
const THERE: [&str; 4] = ["daemon ", "deployment preflight", "backup restore", "doctor --fix"];
/// What works on any machine, and asks no daemon.
const ANYWHERE: [&str; 3] = ["deployment ", "backup verify", "config validate"];
const ON_ITS_MACHINE: &str = " (on the daemon's machine)";

/// The options that lead a command to the same daemon again.
#[derive(Debug, Clone, Default)]
pub struct Address {
    data_dir: Option<String>,
    host: Option<String>,
}

impl Address {
    /// Those of a daemon on this machine, whose files are in a folder, or of one elsewhere, to which a file
    /// with a token leads.
    pub fn new(data_dir: Option<&str>, host: Option<(&str, Option<&str>)>) -> Self {
        let option = |name: &str, value: &str| format!("--{name} {} ", shell_word(value));
        let host = host.map(|(host, token)| {
            let token = token.map(|file| option("token-file", file));
            format!("--host {host} {}", token.unwrap_or_default())
        });
        Self { data_dir: data_dir.map(|folder| option("data-dir", folder)), host }
    }

    /// `text` with these options in every command that it names. A command that names its daemon
    /// itself is left alone.
    pub fn complete<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.completed(text, |command| THERE.iter().any(|start| command.starts_with(start)))
    }

    /// As [`Self::complete`], where the credential for the host is what is wrong: the same host
    /// would refuse every command again.
    pub fn complete_there<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.completed(text, |_| true)
    }

    fn completed<'a>(&self, text: &'a str, is_there: impl Fn(&str) -> bool) -> Cow<'a, str> {
        if self.data_dir.is_none() && self.host.is_none() {
            return Cow::Borrowed(text);
        }
        let mut pieces = text.split(COMMAND);
        let mut whole = pieces.next().unwrap_or_default().to_owned();
        for rest in pieces {
            whole.push_str(COMMAND);
            let (command, after) = rest.split_once('`').unwrap_or((rest, ""));
            let names_its_own = command.starts_with("--");
            let is_elsewhere = self.host.is_some() && is_there(command);
            if !names_its_own && !is_elsewhere {
                whole.push_str(self.before(command).unwrap_or_default());
            }
            whole.push_str(command);
            if rest.len() > command.len() {
                let place = if is_elsewhere && !names_its_own { ON_ITS_MACHINE } else { "" };
                whole.extend(["`", place, after]);
            }
        }
        Cow::Owned(whole)
    }

    fn before(&self, command: &str) -> Option<&str> {
        let asks_nobody = ANYWHERE.iter().any(|start| command.starts_with(start));
        let host = if asks_nobody { None } else { self.host.as_deref() };
        host.or(self.data_dir.as_deref())
    }
}

//! The tools: how they are called, and what their answers mean.

use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Command;
use zeroize::Zeroizing;

use super::super::KeyProblem;
use super::super::program::{self, Complaints, Ended, Failed};

/// As it is seen in the keyring's own programs.
const LABEL: &str = "Master key of Palyra";
const IN_USE: &str = "palyra";
const NEXT: &str = "palyra-next";
const KEPT: &str = "palyra-kept";

/// More next keys than crashes ever leave.
const MOST_NEXT: usize = 100;

/// How `security` ends where there is no such entry: the last byte of errSecItemNotFound.
const SECURITY_NOT_FOUND: i32 = 44;
/// And where it would have to ask somebody and may not: of errSecInteractionNotAllowed.
const SECURITY_LOCKED: i32 = 36;

/// Which entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry<'a> {
    InUse {
        place: &'a str,
    },
    Next {
        place: &'a str,
        id: &'a str,
    },
    Kept {
        place: &'a str,
        id: &'a str,
    },
    /// To be cleared only.
    AnyNext {
        place: &'a str,
    },
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Look,
    Store,
    Clear,
}

/// A program that speaks to the keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tool {
    /// `secret-tool` of libsecret.
    SecretTool(PathBuf),
    /// `security` of macOS.
    Security(PathBuf),
}

impl Tool {
    pub(super) fn of_system() -> Self {
        if cfg!(target_os = "macos") {
            Tool::Security("security".into())
        } else {
            Tool::SecretTool("secret-tool".into())
        }
    }

    /// What is in the entry.
    pub(super) async fn look(
        &self,
        entry: &Entry<'_>,
        limit: Duration,
    ) -> Result<Option<Zeroizing<String>>, KeyProblem> {
        let ended = self.run(&self.arguments(Action::Look, entry), None, limit).await?;
        if ended.status.success() && !ended.printed.trim().is_empty() {
            return Ok(Some(ended.printed));
        }
        self.absent(&ended).map(|()| None)
    }

    /// Puts `secret` in the entry, whatever was there.
    pub(super) async fn store(
        &self,
        entry: &Entry<'_>,
        secret: &Zeroizing<String>,
        limit: Duration,
    ) -> Result<(), KeyProblem> {
        let arguments = self.arguments(Action::Store, entry);
        // Through standard input: arguments can be seen by every user of the machine.
        let ended = match self {
            Tool::SecretTool(_) => self.run(&arguments, Some(secret.clone()), limit).await?,
            Tool::Security(_) => {
                let line = format!("{} -w {}\n", arguments.join(" "), secret.as_str());
                self.run(&["-i".to_owned()], Some(Zeroizing::new(line)), limit).await?
            }
        };
        if ended.status.success() { Ok(()) } else { Err(self.complaint(&ended)) }
    }

    /// Empties the entry, if there is one.
    pub(super) async fn clear(&self, entry: &Entry<'_>, limit: Duration) -> Result<(), KeyProblem> {
        let runs = match self {
            // All that match at once. Some versions say each time that they did.
            Tool::SecretTool(_) => 1,
            // One at a time, until it says that there is none.
            Tool::Security(_) => MOST_NEXT,
        };
        for _ in 0..runs {
            let ended = self.run(&self.arguments(Action::Clear, entry), None, limit).await?;
            if !ended.status.success() {
                return self.absent(&ended);
            }
        }
        Ok(())
    }

    fn arguments(&self, action: Action, entry: &Entry<'_>) -> Vec<String> {
        let words: Vec<&str> = match self {
            Tool::SecretTool(_) => {
                let command: &[&str] = match action {
                    Action::Look => &["lookup"],
                    Action::Store => &["store", "--label", LABEL],
                    Action::Clear => &["clear"],
                };
                let attributes: &[&str] = match entry {
                    Entry::InUse { place } => &["service", IN_USE, "data-dir", place],
                    Entry::Next { place, id } => &["service", NEXT, "data-dir", place, "key", id],
                    Entry::Kept { place, id } => &["service", KEPT, "data-dir", place, "key", id],
                    Entry::AnyNext { place } => &["service", NEXT, "data-dir", place],
                };
                [command, attributes].concat()
            }
            Tool::Security(_) => {
                let attributes: &[&str] = match entry {
                    Entry::InUse { place } => &["-s", IN_USE, "-a", place],
                    Entry::Next { place, id } => &["-s", NEXT, "-a", id, "-G", place],
                    Entry::Kept { place, id } => &["-s", KEPT, "-a", id, "-G", place],
                    Entry::AnyNext { place } => &["-s", NEXT, "-G", place],
                };
                match action {
                    Action::Look => [&["find-generic-password"], attributes, &["-w"]].concat(),
                    Action::Store => [&["add-generic-password", "-U"], attributes].concat(),
                    Action::Clear => [&["delete-generic-password"], attributes].concat(),
                }
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }

    async fn run(
        &self,
        arguments: &[String],
        input: Option<Zeroizing<String>>,
        limit: Duration,
    ) -> Result<Ended, KeyProblem> {
        let mut command = Command::new(self.path());
        command.args(arguments);
        let ran = program::run(command, input, Complaints::Heard, limit).await;
        ran.map_err(|why| match why {
            Failed::Start(error) if error.kind() == std::io::ErrorKind::NotFound => {
                problem(&format!(
                    "needs the program {}, which is not in PATH; install it (on Linux it is in \
                     the package libsecret-tools or libsecret), or choose another \
                     vault.key_source",
                    self.path().display()
                ))
            }
            Failed::Slow(limit) => problem(&format!(
                "did not answer within {} s; it may wait for somebody to unlock it",
                limit.as_secs_f64()
            )),
            Failed::Start(_) | Failed::Output(_) => {
                problem(&format!("gives nothing: {} {why}", self.path().display()))
            }
        })
    }

    /// Whether it said that there is nothing, and nothing else.
    fn absent(&self, ended: &Ended) -> Result<(), KeyProblem> {
        let silent = match self {
            Tool::SecretTool(_) => ended.status.code() == Some(1) && self.said(ended).is_empty(),
            Tool::Security(_) => ended.status.code() == Some(SECURITY_NOT_FOUND),
        };
        if silent { Ok(()) } else { Err(self.complaint(ended)) }
    }

    /// Its own words, without those of libraries that warn about other things.
    fn said(&self, ended: &Ended) -> String {
        let own = ended.complaint.lines().filter(|line| line.starts_with("secret-tool:"));
        own.collect::<Vec<_>>().join(" ").to_lowercase()
    }

    /// What it said, in our words: its own may hold what it was given.
    fn complaint(&self, ended: &Ended) -> KeyProblem {
        let said = self.said(ended);
        let any = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if ended.status.code() == Some(SECURITY_LOCKED) || any(&["locked", "prompt", "dismissed"]) {
            return problem("is locked; unlock it, or log in to the desktop, and try again");
        }
        if any(&["d-bus", "dbus", "could not connect", "serviceunknown", "was not provided"]) {
            return problem(
                "cannot be reached, because there is no D-Bus session with a keyring; start the \
                 daemon in the session of its user, or choose another vault.key_source",
            );
        }
        if any(&["does not exist at path"]) {
            let what = "has no place for new entries; make a keyring, or log in to the desktop";
            return problem(what);
        }
        let tool = self.path().display();
        problem(&format!("refused: {tool} ended with {}", ended.status))
    }

    fn path(&self) -> &PathBuf {
        match self {
            Tool::SecretTool(path) | Tool::Security(path) => path,
        }
    }
}

/// `what` the keyring does instead of giving a key.
pub(super) fn problem(what: &str) -> KeyProblem {
    KeyProblem::Keyring { what: what.to_owned() }
}

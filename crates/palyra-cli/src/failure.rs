//! Why a command failed, told to a person or a program.

use std::fmt::Display;
use std::io::ErrorKind as IoKind;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use palyra_client::{ClientError, TargetError};
use palyra_common::hint::Address;
use palyra_common::{ErrorCode, StableErrorEnvelope, shapes};
use serde_json::json;

use crate::exit::Exit;
use crate::output::{Output, printable};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error to be told.
    Told(Box<StableErrorEnvelope>),
    /// A check found faults, which its report has told already.
    Faults,
    /// Another program has told what is wrong.
    ToldAlready(Exit),
    /// A person changed their mind.
    Interrupted,
}

/// What a command comes to.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        StableErrorEnvelope::new(code, message).into()
    }

    /// An argument or a value is wrong.
    pub(crate) fn asked(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::CommonInvalidInput, message)
    }

    /// It contradicts what is there.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::CommonConflict, message)
    }

    /// A file of this machine.
    pub(crate) fn file(path: &Path, error: impl Display) -> Self {
        Self::new(ErrorCode::ClientLocalFile, format!("{}: {error}", path.display()))
    }

    /// What a daemon needs in its data directory, told as palyrad tells it.
    pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Self {
        let code = match error.kind() {
            IoKind::PermissionDenied | IoKind::ReadOnlyFilesystem => ErrorCode::StorageReadOnly,
            IoKind::StorageFull | IoKind::QuotaExceeded => ErrorCode::StorageDiskFull,
            _ => ErrorCode::ClientLocalFile,
        };
        Self::new(code, format!("{} cannot be written: {error}", path.display()))
    }

    /// Something else of this machine.
    pub(crate) fn machine(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ClientLocalFile, message)
    }

    /// Tells it, and gives the exit code.
    pub(crate) fn report(&self, out: &Output) -> ExitCode {
        let (told, exit) = match self {
            Self::Told(envelope) => (Some(told(envelope, out)), Exit::of(envelope)),
            Self::Faults => (None, Exit::Faults),
            Self::ToldAlready(exit) => (None, *exit),
            Self::Interrupted => (Some(interrupted(out)), Exit::Interrupted),
        };
        out.tell(&told.unwrap_or_default());
        exit.code().into()
    }
}

/// What failed, under which code, and what to do.
fn told(envelope: &StableErrorEnvelope, out: &Output) -> String {
    let message = out.complete(envelope.message());
    let hint = envelope.recovery_hint();
    let is_credential = envelope.code().starts_with("auth/");
    let hint = if is_credential { out.complete_there(hint) } else { out.complete(hint) };
    if out.is_json() {
        let mut document = json!({ "error": envelope });
        document["error"]["message"] = (*message).into();
        document["error"]["recovery_hint"] = (*hint).into();
        return format!("{document:#}\n");
    }
    let (code, message, hint) = (printable(envelope.code()), printable(&message), printable(&hint));
    format!("palyra: {message}\n  code: {code}\n  what to do: {hint}\n")
}

fn interrupted(out: &Output) -> String {
    if out.is_json() {
        let what = "the command was interrupted";
        return told(&StableErrorEnvelope::new(ErrorCode::ClientInterrupted, what), out);
    }
    "palyra: interrupted\n".into()
}

/// What clap says: help and version on standard output, mistakes on standard error. What was typed
/// where it does not belong may be a secret, so it is not repeated.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let out = Output::new(has("--json"), Address::default());
    if !error.use_stderr() {
        let printed = out.print(&error.render().to_string());
        return printed.map_or_else(|failure| failure.report(&out), |()| ExitCode::SUCCESS);
    }
    if error.kind() == ErrorKind::UnknownArgument && has("secrets") && has("set") {
        let told = "a value is no argument, because every process of the machine can read those; \
                    type it at the prompt, or pipe it in";
        return Failure::asked(told).report(&out);
    }
    let text = shapes::redact_suspects(&error.render().to_string()).into_owned();
    if out.is_json() {
        return Failure::asked(on_one_line(error.kind(), &text)).report(&out);
    }
    out.tell(&text);
    Exit::Usage.code().into()
}

/// What clap says is wrong, with what it lists and guesses. How the command is used is for people.
fn on_one_line(kind: ErrorKind, text: &str) -> String {
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Its words are the help, which names the commands first on their lines.
        let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1);
        let names = listed.map_while(|line| line.strip_prefix("  ")?.split(' ').next());
        let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
        return format!("a command is missing, which is one of: {}", names.join(", "));
    }
    let is_said =
        |part: &&str| !["Usage:", "For more information"].iter().any(|it| part.starts_with(it));
    let parts = text.trim_end().split("\n\n").take_while(is_said).map(|part| {
        let part = part.strip_prefix("error: ").unwrap_or(part);
        let (head, listed) = part.split_once('\n').unwrap_or((part, ""));
        let listed: Vec<_> = listed.lines().map(str::trim).collect();
        format!("{} {}", head.trim(), listed.join(", ")).trim_end().to_owned()
    });
    parts.collect::<Vec<_>>().join("; ")
}

impl From<StableErrorEnvelope> for Failure {
    fn from(envelope: StableErrorEnvelope) -> Self {
        Self::Told(Box::new(envelope))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        error.envelope().into()
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

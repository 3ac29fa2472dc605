//! What every command has: the global options and the output.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use palyra_client::{ApiToken, Client, Target};
use palyra_common::data_dir::{self, Surroundings};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::files;
use crate::hint;
use crate::output::Output;

#[cfg(test)]
mod tests;

/// The variable that holds an API token.
pub(crate) const TOKEN_VARIABLE: &str = "PALYRA_TOKEN";
/// Whoever waits longer than this wonders.
const SAY_AFTER: Duration = Duration::from_secs(3);
/// No token is longer than this.
const TOKEN_BYTES: u64 = 4 << 10;

#[derive(Debug)]
pub(crate) struct Context {
    globals: Globals,
    out: Output,
}

impl Context {
    pub(crate) fn new(globals: Globals) -> Self {
        let out = Output::new(globals.json, hint::address(&globals));
        Self { globals, out }
    }

    pub(crate) fn out(&self) -> &Output {
        &self.out
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.globals.host.is_some()
    }

    /// A client of the daemon that the global options name.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let target = match &self.globals.host {
            Some(host) => Target::Remote { host: host.clone(), token: self.token()? },
            None => Target::Local { data_dir: self.data_dir()? },
        };
        Ok(Client::new(target)?)
    }

    /// Waits for the status of a daemon; a person at a terminal is told when it takes long.
    pub(crate) async fn waiting<T>(&self, answer: impl Future<Output = T>) -> T {
        let limit = palyra_client::STATUS_TIMEOUT.as_secs();
        let say = || self.out.aside(&format!("Waiting for the daemon, for up to {limit} s…"));
        told_when_slow(answer, SAY_AFTER, say).await
    }

    /// The data directory on this machine, as an absolute path.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Failure> {
        let around = Surroundings {
            xdg_data_home: std::env::var_os("XDG_DATA_HOME"),
            home: std::env::var_os("HOME"),
        };
        let found = data_dir::locate(self.globals.data_dir.clone(), around).ok_or_else(|| {
            Failure::asked(
                "there is no data directory, because HOME is not set; give one with --data-dir",
            )
        })?;
        std::path::absolute(&found).map_err(|error| Failure::file(&found, error))
    }

    /// As [`Self::data_dir`], for what can be done only where the daemon is.
    pub(crate) fn own_data_dir(&self, what: &str) -> Result<PathBuf, Failure> {
        if self.is_remote() {
            return Err(Failure::asked(format!(
                "{what} works on the machine of the daemon only; leave --host away and run it there"
            )));
        }
        self.data_dir()
    }

    /// Never from an argument: every process of the machine can read those.
    fn token(&self) -> Result<Option<ApiToken>, Failure> {
        if let Some(path) = &self.globals.token_file {
            let text = files::read_bounded(path, TOKEN_BYTES).map_err(|failure| match failure {
                Failure::Told(told) => Failure::asked(format!(
                    "the file of --token-file cannot be read: {}; name one that holds \
                     an API token, made on the daemon's machine with palyra auth tokens create",
                    told.message()
                )),
                other @ (Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted) => other,
            })?;
            return Ok(Some(text.parse()?));
        }
        match std::env::var(TOKEN_VARIABLE) {
            Ok(text) if !text.is_empty() => Ok(Some(text.parse()?)),
            Ok(_) | Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(palyra_client::TargetError::Token.into()),
        }
    }
}

/// Waits for `answer`, and says so once when it is not there `after` a while.
async fn told_when_slow<T>(
    answer: impl Future<Output = T>,
    after: Duration,
    say: impl FnOnce(),
) -> T {
    let mut answer = pin!(answer);
    if let Ok(answered) = tokio::time::timeout(after, &mut answer).await {
        return answered;
    }
    say();
    answer.await
}

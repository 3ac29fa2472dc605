//! A daemon that is away for a while, as it is when it restarts.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::ClientError;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a daemon that is away is waited for, and how long it has been away.
#[derive(Debug)]
pub struct Absence {
    patience: Duration,
    since: Option<Instant>,
    pause: Duration,
}

impl Absence {
    /// It is there, and is waited for as long as `patience` whenever it goes away.
    pub fn new(patience: Duration) -> Self {
        Self { patience, since: None, pause: FIRST_PAUSE }
    }

    /// Whether it has gone away and was not seen since.
    pub fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// Notes that it is there.
    pub fn end(&mut self) {
        *self = Self::new(self.patience);
    }

    /// Returns when it is time to try again what came to `error`. Gives the error back where waiting
    /// does not help, or has lasted long enough.
    pub async fn wait(&mut self, error: ClientError) -> Result<(), ClientError> {
        let again = self.note(error)?;
        tokio::time::sleep_until(again).await;
        Ok(())
    }

    /// As [`Self::wait`], and says when that is.
    pub(crate) fn note(&mut self, error: ClientError) -> Result<Instant, ClientError> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if !error.is_absence() || now - since >= self.patience {
            return Err(error);
        }
        let again = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(again)
    }
}

//! Events over as many connections as it takes, none twice.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::ACCEPT;
use tokio::time::Instant;

use super::stream::{Connection, Numbered, Told};
use crate::absence::Absence;
use crate::client::Client;
use crate::error::ClientError;

/// The number of the last event that was seen, which browsers send by themselves.
const LAST_EVENT_ID: &str = "last-event-id";
/// A connection that lasted this long was one to a daemon that is there.
const IS_THERE: Duration = Duration::from_secs(1);

/// What is heard.
pub(super) enum Heard {
    Event(String),
    /// There is no more.
    Over,
    Lost,
    Back,
}

/// Keeps a connection to where events come from.
pub(super) struct Wire {
    pub(super) client: Client,
    path: Vec<String>,
    last: Option<i64>,
    open: Option<(Connection, Instant)>,
    again_at: Option<Instant>,
    absence: Absence,
    is_lost: bool,
}

impl Wire {
    pub(super) fn new(
        client: Client,
        path: Vec<String>,
        after: Option<i64>,
        patience: Duration,
    ) -> Self {
        let absence = Absence::new(patience);
        Self { client, path, last: after, open: None, again_at: None, absence, is_lost: false }
    }

    /// The next thing that is heard. Cancel safe.
    pub(super) async fn hear(&mut self) -> Result<Heard, ClientError> {
        loop {
            if let Some(again_at) = self.again_at {
                tokio::time::sleep_until(again_at).await;
                self.again_at = None;
            }
            let heard = match &mut self.open {
                Some((open, _)) => open.next().await,
                None => match self.connect().await {
                    Ok(open) => {
                        self.open = Some((open, Instant::now()));
                        if std::mem::take(&mut self.is_lost) {
                            return Ok(Heard::Back);
                        }
                        continue;
                    }
                    Err(error) => Err(error),
                },
            };
            match heard {
                // What was seen before the connection was lost may come again.
                Ok(Some(Told::Event(event))) if self.last.is_some_and(|last| event.seq <= last) => {
                }
                Ok(Some(Told::Event(Numbered { seq, data }))) => {
                    self.absence.end();
                    self.last = Some(seq);
                    if let Some(data) = data {
                        return Ok(Heard::Event(data));
                    }
                }
                Ok(Some(Told::Over)) => return Ok(Heard::Over),
                // A daemon that stops ends its connections, and so does one that needs their place.
                Ok(None) => self.close(self.client.unexpected("an end that is none"))?,
                Err(error) => {
                    if self.lose(error)? {
                        return Ok(Heard::Lost);
                    }
                }
            }
        }
    }

    /// Notes that the daemon cannot be reached. Says whether that is news; gives the error back if it
    /// is not waited for.
    fn lose(&mut self, error: ClientError) -> Result<bool, ClientError> {
        self.close(error)?;
        Ok(!std::mem::replace(&mut self.is_lost, true))
    }

    fn close(&mut self, error: ClientError) -> Result<(), ClientError> {
        if self.open.take().is_some_and(|(_, since)| since.elapsed() >= IS_THERE) {
            self.absence.end();
        }
        self.again_at = Some(self.absence.note(error)?);
        Ok(())
    }

    async fn connect(&self) -> Result<Connection, ClientError> {
        let path: Vec<_> = self.path.iter().map(String::as_str).collect();
        let request = self.client.request(Method::GET, &path).header(ACCEPT, "text/event-stream");
        let request = match self.last {
            Some(last) => request.header(LAST_EVENT_ID, last),
            None => request,
        };
        Connection::new(self.client.clone(), self.client.accepted(request).await?)
    }
}

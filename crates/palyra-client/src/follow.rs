//! What happens, as it happens, through restarts of the daemon: no event is missed, none comes twice.

mod stream;
mod wire;

use std::time::Duration;

use palyra_common::api::FeedEvent;
use palyra_common::ids::RunId;
use palyra_common::tape::TapeEntry;
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::ClientError;
use wire::{Heard, Wire};

/// What a follower is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed<T> {
    /// Something happened.
    Event(T),
    /// The daemon is away. It is waited for.
    Lost,
    /// The daemon is there again; what happened meanwhile comes now.
    Back,
}

/// One who follows the tape of a run.
pub struct RunFollower {
    wire: Wire,
    is_over: bool,
}

/// One who follows the feed of all that happens.
pub struct FeedFollower {
    wire: Wire,
}

impl Client {
    /// Follows the feed from the event behind `after` on, without it from now on, and waits for a
    /// daemon that is away for as long as `patience`, also in the beginning.
    pub fn follow_feed(&self, after: Option<i64>, patience: Duration) -> FeedFollower {
        let path = ["console", "v1", "events"].map(str::to_owned);
        FeedFollower { wire: Wire::new(self.clone(), path.into(), after, patience) }
    }

    /// Follows the tape of a run from the event behind `after` on (0 for all of it), and waits for a
    /// daemon that is away for as long as `patience`, also in the beginning.
    pub fn follow_run(&self, run: RunId, after: i64, patience: Duration) -> RunFollower {
        let path = ["admin", "v1", "runs", &run.to_string(), "events"].map(str::to_owned);
        let wire = Wire::new(self.clone(), path.into(), Some(after), patience);
        RunFollower { wire, is_over: false }
    }
}

impl RunFollower {
    /// The next event of the tape, or what became of the connection; none once the run and its
    /// deliveries have ended. Kinds of events that this version does not know are passed over.
    /// Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Followed<TapeEntry>>, ClientError> {
        while !self.is_over {
            match self.wire.hear().await? {
                Heard::Event(data) => {
                    if let Some(entry) = decode(&self.wire.client, &data)? {
                        return Ok(Some(Followed::Event(entry)));
                    }
                }
                Heard::Lost => return Ok(Some(Followed::Lost)),
                Heard::Back => return Ok(Some(Followed::Back)),
                Heard::Over => self.is_over = true,
            }
        }
        Ok(None)
    }
}

impl FeedFollower {
    /// The next event of the feed, or what became of the connection. Cancel safe.
    pub async fn next(&mut self) -> Result<Followed<FeedEvent>, ClientError> {
        loop {
            match self.wire.hear().await? {
                Heard::Event(data) => {
                    if let Some(event) = decode(&self.wire.client, &data)? {
                        return Ok(Followed::Event(event));
                    }
                }
                Heard::Lost => return Ok(Followed::Lost),
                Heard::Back => return Ok(Followed::Back),
                // The feed has no end.
                Heard::Over => {}
            }
        }
    }
}

/// What an event holds; nothing where a newer daemon tells of what is not known here.
fn decode<T: DeserializeOwned>(client: &Client, data: &str) -> Result<Option<T>, ClientError> {
    match serde_json::from_str(data) {
        Ok(event) => Ok(Some(event)),
        Err(error) if error.is_data() => Ok(None),
        Err(error) => Err(client.unexpected(format!("an event that is no JSON: {error}"))),
    }
}

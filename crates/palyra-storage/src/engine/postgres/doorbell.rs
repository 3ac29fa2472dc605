//! Notices between nodes.
//!
//! `NOTIFY` inside a transaction takes a lock that all notifying commits of the database share,
//! so commits would queue up behind each other. Notices are therefore sent after the commit, by
//! one connection per node that also listens, each topic once however often it rang meanwhile. A
//! notice lost by a crash in between costs a worker's next look at its table, nothing else.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use palyra_common::ids::IncarnationId;
use tokio::sync::{Notify, watch};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::connect::{Dial, answer};
use super::fault::Fault;
use crate::notify::Bell;

const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const CHANNEL: &str = "palyra";
const LISTEN: &str = "LISTEN palyra";
const TELL: &str = "SELECT pg_notify($1, $2)";
/// What rings again and again is told once in this time.
const TOGETHER: Duration = Duration::from_millis(10);
/// A server that does not answer within this is as good as gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Topics waiting to be told to other nodes. Bounded by the number of topics there are.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    topics: Mutex<BTreeSet<&'static str>>,
    filled: Notify,
}

impl Outgoing {
    pub(crate) fn push(&self, topic: &'static str) {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).insert(topic);
        self.filled.notify_one();
    }

    fn next(&self) -> Option<&'static str> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }
}

pub(crate) struct Doorbell {
    pub(crate) dial: Dial,
    pub(crate) node: IncarnationId,
    pub(crate) bell: Arc<Bell>,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) closed: watch::Receiver<bool>,
    /// Told once, when the node hears others for the first time.
    pub(crate) listening: Option<std::sync::mpsc::Sender<()>>,
}

impl Doorbell {
    /// Listens and tells until the database is closed.
    pub(crate) async fn run(mut self) {
        let mut closed = self.closed.clone();
        let work = async {
            loop {
                if let Err(Fault { error, .. }) = self.session().await {
                    tracing::warn!(error = %crate::error::describe(&error),
                        "lost the connection for notices, trying again");
                }
                tokio::time::sleep(RECONNECT_PAUSE).await;
            }
        };
        tokio::select! {
            () = work => {}
            _ = closed.wait_for(|closed| *closed) => {}
        }
    }

    async fn session(&mut self) -> Result<(), Fault> {
        let began = Instant::now();
        let connecting = self.dial.config().connect(NoTls);
        let place = self.dial.place();
        let (client, mut connection) = match answer(PATIENCE, connecting).await {
            Ok(connected) => connected,
            Err(fault) => {
                place.lost(&fault.at(place).error, began);
                return Ok(());
            }
        };
        place.found();
        let (bell, own) = (self.bell.clone(), self.node.to_string());
        // Notices ring where they are read: whatever this node is telling at that moment, the
        // connection is always read on.
        let mut driver = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(notice) = message {
                    hear(&bell, notice.payload(), &own);
                }
            }
        });
        let outcome = tokio::select! {
            // First whoever tells: it keeps what could not be told.
            biased;
            outcome = self.tell(&client) => outcome,
            _ = &mut driver => Ok(()),
        };
        driver.abort();
        outcome
    }

    async fn tell(&mut self, client: &Client) -> Result<(), Fault> {
        answer(PATIENCE, client.batch_execute(LISTEN)).await?;
        // Whatever was told while nobody listened is made up for by looking once.
        self.bell.ring_all();
        if let Some(listening) = self.listening.take() {
            // Whoever opened the database may have stopped waiting for this.
            let _ = listening.send(());
        }
        let tell = answer(PATIENCE, client.prepare(TELL)).await?;
        let own = self.node.to_string();
        loop {
            // At first what the last connection could not tell.
            while let Some(topic) = self.outgoing.next() {
                let notice = format!("{own} {topic}");
                let params: [&(dyn ToSql + Sync); 2] = [&CHANNEL, &notice];
                if let Err(fault) = answer(PATIENCE, client.execute(&tell, &params)).await {
                    // The next connection tells it.
                    self.outgoing.push(topic);
                    return Err(fault);
                }
            }
            tokio::time::sleep(TOGETHER).await;
            self.outgoing.filled.notified().await;
        }
    }
}

fn hear(bell: &Bell, notice: &str, own: &str) {
    if let Some((node, topic)) = notice.split_once(' ')
        && node != own
    {
        bell.ring(topic);
    }
}

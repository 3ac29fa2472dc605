//! Notices between nodes.
//!
//! `NOTIFY` inside a transaction takes a lock that all notifying commits of the database share,
//! so commits would queue up behind each other. Notices are therefore sent after the commit, by
//! one connection per node that also listens, each topic once however often it rang. A notice
//! lost by a crash in between costs a worker's next look at its table, nothing else.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use palyra_common::ids::IncarnationId;
use tokio::sync::{Notify, mpsc, watch};
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::connect::Dial;
use crate::notify::{Bell, Topic};

const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const CHANNEL: &str = "palyra";
const LISTEN: &str = "LISTEN palyra";
const TELL: &str = "SELECT pg_notify($1, $2)";
/// Notices read ahead of being passed on.
const BUFFERED_NOTICES: usize = 256;

/// Topics waiting to be told to other nodes. Bounded by the number of topics there are.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    topics: Mutex<BTreeSet<&'static str>>,
    filled: Notify,
}

impl Outgoing {
    pub(crate) fn push(&self, topic: Topic) {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.insert(topic.as_str());
        self.filled.notify_one();
    }

    fn take(&self) -> BTreeSet<&'static str> {
        std::mem::take(&mut *self.topics.lock().unwrap_or_else(PoisonError::into_inner))
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
                if let Err(error) = self.session().await {
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

    async fn session(&mut self) -> Result<(), tokio_postgres::Error> {
        let (client, mut connection) = self.dial.config().connect(NoTls).await?;
        let (heard, mut notices) = mpsc::channel(BUFFERED_NOTICES);
        let driver = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(notice) = message
                    && heard.send(notice.payload().to_owned()).await.is_err()
                {
                    break;
                }
            }
        });
        let outcome = self.exchange(&client, &mut notices).await;
        driver.abort();
        outcome
    }

    async fn exchange(
        &mut self,
        client: &Client,
        notices: &mut mpsc::Receiver<String>,
    ) -> Result<(), tokio_postgres::Error> {
        client.batch_execute(LISTEN).await?;
        // Whatever was told while nobody listened is made up for by looking once.
        self.bell.ring_all();
        if let Some(listening) = self.listening.take() {
            // Whoever opened the database may have stopped waiting for this.
            let _ = listening.send(());
        }
        let tell = client.prepare(TELL).await?;
        let own = self.node.to_string();
        loop {
            tokio::select! {
                notice = notices.recv() => match notice {
                    Some(notice) => self.hear(&notice, &own),
                    None => return Ok(()),
                },
                () = self.outgoing.filled.notified() => {
                    for topic in self.outgoing.take() {
                        client.execute(&tell, &[&CHANNEL, &format!("{own} {topic}")]).await?;
                    }
                }
            }
        }
    }

    fn hear(&self, notice: &str, own: &str) {
        if let Some((node, topic)) = notice.split_once(' ')
            && node != own
        {
            self.bell.ring(topic);
        }
    }
}

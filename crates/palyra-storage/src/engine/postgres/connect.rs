//! Connecting, and what every session is told first.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, Instant};

use palyra_common::ids::IncarnationId;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::fault::{Fault, classify};
use super::marks::Slot;
use super::place::{self, Place};
use super::version::ServerVersion;
use crate::StorageError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For a whole new session, greeting included: the driver's own limit ends at the connection.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// For one answer. Longer than the server's own limit on a statement, so that it is met only by a
/// server that does not keep its own, or a network that loses it.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(25);

/// A session never waits for ever: not for a statement, not for a lock, and not, holding locks,
/// for a program that was stopped. A server that was told to answer commits before they are on
/// its disk is overruled; one that was told to wait for its replicas is not.
const SESSION: &str = "SET statement_timeout = '20s'; SET lock_timeout = '5s';
    SET idle_in_transaction_session_timeout = '10s';
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') = 'off'";

/// How to reach the server.
#[derive(Clone)]
pub(crate) struct Dial {
    config: Config,
    place: Place,
}

impl Dial {
    /// Refuses an address that can never work.
    pub(crate) fn check(config: &Config) -> Result<(), StorageError> {
        place::check(config)
    }

    pub(crate) fn new(mut config: Config) -> Self {
        config.connect_timeout(CONNECT_TIMEOUT);
        config.keepalives_idle(SESSION_TIMEOUT);
        config.tcp_user_timeout(ANSWER_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("palyrad");
        }
        let place = Place::of(&config);
        Self { config, place }
    }

    /// A session without a slot for commit marks: for reading, and for migrations, which make the
    /// table of marks.
    pub(crate) async fn bare_link(&self) -> Result<Link, Fault> {
        let began = Instant::now();
        let linked = self.connect().await;
        match &linked {
            Ok(_) => self.place.found(),
            Err(fault) if fault.again.is_some() => self.place.lost(&fault.error, began),
            Err(_) => {}
        }
        linked
    }

    async fn connect(&self) -> Result<Link, Fault> {
        let linked = answer(SESSION_TIMEOUT, async {
            let (client, connection) = self.config.connect(NoTls).await?;
            let version = connection.parameter("server_version").map(str::to_owned);
            let version = version.map(ServerVersion::from);
            // It would not know what it is told next.
            if let Some(old) = version.filter(|known| known.is_older_than(ServerVersion::OLDEST)) {
                return Ok(Err(Fault::too_old(old)));
            }
            let driver = tokio::spawn(async move {
                // Its end is seen by every statement as a closed connection.
                let _ = connection.await;
            });
            let (statements, place) = (HashMap::new(), self.place.clone());
            let link = Link { client, driver, statements, slot: None, place };
            link.client.batch_execute(SESSION).await?;
            Ok(Ok(link))
        });
        linked.await.flatten().map_err(|fault| fault.at(&self.place))
    }

    /// A session that writes.
    pub(crate) async fn marking_link(&self, node: IncarnationId) -> Result<Link, Fault> {
        let mut link = self.bare_link().await?;
        let opened = answer(SESSION_TIMEOUT, Slot::open(&link.client, node)).await;
        link.slot = Some(opened.map_err(|fault| fault.at(&self.place))?);
        Ok(link)
    }

    /// Where the server is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The configuration, for the listening connection, which drives itself.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }
}

/// Waits for the server, but not for ever.
pub(super) async fn answer<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, asked).await {
        Ok(answered) => answered.map_err(classify),
        Err(_) => Err(Fault::silent(limit)),
    }
}

/// One connection with its prepared statements.
pub(crate) struct Link {
    pub(crate) client: Client,
    driver: JoinHandle<()>,
    pub(crate) statements: HashMap<&'static str, Statement>,
    /// The row in which this connection marks what it commits.
    pub(crate) slot: Option<Slot>,
    pub(super) place: Place,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

//! The end of what runs, for which there is a limit.

use std::time::Duration;

use tokio::sync::watch;

use super::services::Services;
use crate::app::App;
use crate::audit;
use crate::failure::Failure;
use crate::runtime_file::RuntimeFile;

/// What a stop may take beyond `http.drain_timeout`: connectors settle what they have begun, the engine
/// gives its runs back, and a backup ends whose reader is gone.
const MARGIN: Duration = Duration::from_secs(30);

/// What is to end, and how it is told.
pub(super) struct Ending {
    pub(super) services: Services,
    pub(super) stopping: watch::Sender<bool>,
    /// Those who hold leases need them until they have ended.
    pub(super) keeping: Services,
    pub(super) releasing: watch::Sender<bool>,
    pub(super) file: RuntimeFile,
}

impl Ending {
    /// Lets everything finish. What has not by then, as when the database is away, is left as after a
    /// crash: whoever starts the daemon again, or takes its leases over, makes it good.
    pub(super) async fn within_limit(mut self, app: &App) -> Result<(), Failure> {
        let limit = limit(app.config().http.drain_timeout.into());
        let in_time = tokio::time::timeout(limit, self.in_order(app)).await;
        in_time.map_err(|_| Failure::StoppedLate { limit, left: self.left() })
    }

    async fn in_order(&mut self, app: &App) {
        self.stopping.send_replace(true);
        self.services.all_end().await;
        self.releasing.send_replace(true);
        self.keeping.all_end().await;
        // A backup whose reader is gone ends by itself, and holds the database until then.
        let drain = app.config().http.drain_timeout.into();
        drop(tokio::time::timeout(drain, app.backing_up.lock()).await);
        self.file.remove(app);
        if let Err(error) = audit::about_node(&app.db, app.clock.now(), "daemon.stopped").await {
            let (code, error) = (error.code(), palyra_storage::describe(&error));
            tracing::warn!(%code, error, "the stop could not be recorded");
        }
        app.db.close().await;
    }

    /// What has not ended.
    fn left(&self) -> Vec<&'static str> {
        let mut left = self.services.names();
        // Leases are renewed until the others have ended.
        if left.is_empty() {
            left.extend(self.keeping.names());
        }
        if left.is_empty() {
            left.push("the database");
        }
        left
    }
}

/// How long a stop may take in all.
fn limit(drain: Duration) -> Duration {
    drain.saturating_add(MARGIN)
}

#[cfg(test)]
mod tests;

//! The signals that ask for a stop.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn reason(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Passes the first signal on and returns at the second: whoever asks again does not want to
    /// wait.
    pub(super) async fn twice(mut self, ask: watch::Sender<Option<&'static str>>) {
        let reason = self.reason().await;
        ask.send_replace(Some(reason));
        self.reason().await;
    }
}

/// Waits until a signal was passed on.
pub(super) async fn asked(mut asked: watch::Receiver<Option<&'static str>>) -> &'static str {
    match asked.wait_for(Option::is_some).await {
        Ok(reason) => reason.unwrap_or_default(),
        // The sender goes only with the whole process.
        Err(_) => std::future::pending().await,
    }
}

//! The signals that ask for a stop.

use std::io::IsTerminal;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Signals that follow this soon mean the same.
const SAME_WISH: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    /// Only where we were started in a terminal: it has gone.
    hangup: Option<Signal>,
}

impl Stop {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: match std::io::stdin().is_terminal() {
                true => Some(signal(SignalKind::hangup())?),
                false => None,
            },
        })
    }

    /// Waits for the next signal.
    pub(super) async fn reason(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = gone(self.hangup.as_mut()) => "SIGHUP",
        }
    }

    /// Passes the first signal on and returns at a later one: whoever asks again does not want to
    /// wait. What comes right behind the first is the same wish, told to the process and to its
    /// group.
    pub(super) async fn twice(mut self, ask: watch::Sender<Option<&'static str>>) {
        let reason = self.reason().await;
        let first = tokio::time::Instant::now();
        ask.send_replace(Some(reason));
        while first.elapsed() < SAME_WISH {
            self.reason().await;
        }
    }
}

async fn gone(hangup: Option<&mut Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
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

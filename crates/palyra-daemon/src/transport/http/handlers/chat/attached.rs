//! A client that waits for a run, and what becomes of the run when it goes.

use palyra_common::Principal;
use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_gateway::{Bring, Follow, GatewayError, Wish};
use palyra_storage::describe;
use palyra_storage::once::{Made, Once};

use crate::app::App;
use crate::failure::Failure;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;

/// What happens to the run when its client has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    /// It is stopped: nobody would read the answer.
    Stops,
    /// It goes on: the client comes back with its key, or the run has ended or waits for a human.
    GoesOn,
}

/// A client at a run.
pub(super) struct Attached {
    app: App,
    run: RunId,
    model: String,
    by: Principal,
    without: Without,
}

impl Attached {
    /// Begins a run, or finds the one that was begun under the key.
    pub(super) async fn begin(
        app: &App,
        caller: &Caller,
        bring: Bring,
        once: Option<Once>,
    ) -> Answer<Self> {
        let (app, by) = (app.clone(), caller.access.principal.clone());
        let without = if once.is_some() { Without::GoesOn } else { Without::Stops };
        // In a task of its own: whoever goes while it is written down stops it, too.
        let begun = tokio::spawn(async move {
            let model = bring.agent.to_string();
            let once = once.map(|once| (by.clone(), once));
            let begun = app.runs.sessions.bring(bring, once).await?;
            let (Made::Now(run) | Made::Before(run)) = begun;
            Ok::<_, GatewayError>(Self { app, run, model, by, without })
        });
        Ok(begun.await.map_err(|error| Failure::Startup(error.into()))??)
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    pub(super) fn run(&self) -> RunId {
        self.run
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Its tape from the beginning.
    pub(super) fn follow(&self) -> Follow {
        self.app.runs.streams.follow(self.run, 0)
    }

    /// Whether the run waits for a human, by its row: its tape tells it of the past, too.
    pub(super) async fn waits(&self) -> Result<bool, GatewayError> {
        let run = self.app.runs.sessions.run(self.run).await?;
        Ok(run.phase == RunLifecyclePhase::WaitingForApproval)
    }

    /// What becomes of the run is no matter of this client any more.
    pub(super) fn is_told(&mut self) {
        self.without = Without::GoesOn;
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let (Without::Stops, Ok(runtime)) = (self.without, tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (app, run) = (self.app.clone(), self.run);
        let by = format!("{}, whose client has gone", self.by);
        runtime.spawn(async move {
            match app.runs.sessions.wish(run, Wish::Abort, by, None).await {
                // It was faster.
                Ok(_) | Err(GatewayError::NotNow { .. }) => {}
                Err(error) => {
                    let error = describe(&error);
                    tracing::warn!(%run, %error, "a run without a client could not be stopped");
                }
            }
        });
    }
}

//! What runs beside each other from start to stop.

use std::collections::HashMap;

use tokio::task::{Id, JoinError, JoinSet};

use crate::failure::Failure;

/// Services by their names. None of them ends before the stop unless something is wrong.
#[derive(Default)]
pub(super) struct Services {
    running: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

impl Services {
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        service: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.running.spawn(service);
        self.names.insert(task.id(), name);
    }

    /// Waits for the first that ends, which is a failure: a daemon that only looks alive helps
    /// nobody, and whoever supervises it can start it anew.
    pub(super) async fn first_end(&mut self) -> Failure {
        match self.running.join_next_with_id().await {
            Some(ended) => Failure::ServiceEnded(self.told(ended)),
            None => std::future::pending().await,
        }
    }

    /// Waits for all of them.
    pub(super) async fn all_end(&mut self) {
        while let Some(ended) = self.running.join_next_with_id().await {
            self.told(ended);
        }
    }

    /// The names of those that run.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.names.values().copied().collect();
        names.sort_unstable();
        names
    }

    /// The name of one that has ended. A panic has no other place to be told.
    fn told(&mut self, ended: Result<(Id, ()), JoinError>) -> &'static str {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let service = self.names.remove(&id).unwrap_or_default();
        if let Err(error) = ended {
            tracing::error!(service, %error, "a service did not end well");
        }
        service
    }
}

#[cfg(test)]
mod tests;

//! The standard health service says what `/readyz` says.

use std::time::Duration;

use tokio::sync::watch;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::gateway;
use crate::app::App;
use crate::ready;

/// The name of a service is short, and whoever asks needs no login.
pub(super) const LARGEST: usize = 1 << 10;

/// How soon a change is told.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The whole server, and the one service that needs the daemon to be ready.
const SERVICES: [&str; 2] = ["", <gateway::Server as NamedService>::NAME];

/// Tells how the daemon is, before anybody can ask: a service of which nothing was told is unknown.
pub(super) async fn begin(health: &HealthReporter, app: &App) -> ServingStatus {
    let status = status(app).await;
    set(health, status).await;
    status
}

/// Follows the readiness of the daemon until it stops; then whoever watches is told and let go.
pub(super) async fn follow(
    mut health: HealthReporter,
    app: App,
    mut told: ServingStatus,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let status = status(&app).await;
        // What is set again is told again.
        if told != status {
            set(&health, status).await;
            told = status;
        }
        let stopped = tokio::time::timeout(LOOK_EVERY, stop.wait_for(|stop| *stop));
        if stopped.await.is_ok() {
            break;
        }
    }
    set(&health, ServingStatus::NotServing).await;
    for service in SERVICES {
        health.clear_service_status(service).await;
    }
}

async fn status(app: &App) -> ServingStatus {
    match ready::check(app).await.ready {
        true => ServingStatus::Serving,
        false => ServingStatus::NotServing,
    }
}

async fn set(health: &HealthReporter, status: ServingStatus) {
    for service in SERVICES {
        health.set_service_status(service, status).await;
    }
}

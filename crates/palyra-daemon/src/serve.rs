//! From start to stop.

mod ending;
mod node;
pub(crate) mod parts;
mod services;
mod stop;

use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use ending::Ending;
use palyra_common::data_dir::{self, Surroundings};
use palyra_common::time::Clock;
use palyra_storage::blob::{BlobStore, S3Credentials};
use palyra_storage::lease::LeaseKeeper;
use palyra_storage::retention::{Sweeper, ground_rules};
use palyra_storage::{Database, MIGRATIONS, OpenOptions, SystemClock};
use palyra_vault::Redactor;
use services::Services;
use stop::Stop;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::app::App;
use crate::config::{self, Given, Loaded};
use crate::failure::Failure;
use crate::runtime_file::RuntimeFile;
use crate::transport::http::{Listeners, login_link, router};
use crate::transport::{grpc, http};
use crate::{aftermath, audit, deployment, folder, log, metrics, settings};

/// How often old rows are looked for.
const SWEEP_EVERY: palyra_common::time::Duration = palyra_common::time::Duration::from_mins(10);

/// Runs until told to stop.
pub(crate) async fn serve(given: Given, data_dir: &Path, loaded: Loaded) -> Result<(), Failure> {
    // Listen first: a signal that comes during the start is not lost.
    let mut stop = Stop::listen().map_err(|error| Failure::Startup(error.into()))?;
    let hangup = signal(SignalKind::hangup()).map_err(|error| Failure::Startup(error.into()))?;
    deployment::check(&loaded.config)?;
    folder::refuse_running(data_dir)?;
    let redactor = Redactor::new();
    let log = log::start(&loaded.config.log, redactor.clone(), data_dir)?;
    folder::warn(data_dir);
    for name in &loaded.strange_env {
        let nearest = config::nearest_variable(name);
        tracing::warn!(name, nearest, "this variable looks like an option of Palyra and is none");
    }
    let config = loaded.config.storage.clone();
    BlobStore::check(&config, S3Credentials::from_env).map_err(Failure::of_option)?;
    let options = OpenOptions { data_dir: data_dir.to_owned(), config, migrations: MIGRATIONS };
    let db = tokio::select! {
        opened = Database::open(options) => opened?,
        // What opening has begun is made good by the next start, as after a crash.
        reason = stop.reason() => {
            tracing::info!(reason, "stopping before the database is open");
            return Ok(());
        }
    };
    // Where a restore was killed before it could do so itself.
    if let Some(found) = aftermath::settle(&db, SystemClock.now()).await? {
        tracing::warn!(found = %found.to_json(), "the database was restored from a backup");
    }
    let (ask, asked) = watch::channel(None);
    let (clock, metrics) = (Arc::new(SystemClock), metrics::start()?);
    let start = parts::Start { db, clock, given, loaded, log, metrics, redactor };
    tokio::select! {
        ended = work(start, data_dir, hangup, asked) => ended,
        () = stop.twice(ask) => Err(Failure::AskedTwice),
    }
}

/// Starts the services, waits for a reason to stop, and stops them.
async fn work(
    start: parts::Start,
    data_dir: &Path,
    hangup: Signal,
    asked: watch::Receiver<Option<&'static str>>,
) -> Result<(), Failure> {
    let parts::Opened { app, supervisor, engine, listeners } = parts::open(start, data_dir).await?;
    audit::about_node(&app.db, app.clock.now(), "daemon.started").await?;

    // Whoever is answered finds the file.
    let file = RuntimeFile::write(&app).map_err(|error| Failure::Startup(error.into()))?;
    let (keeper, node) = LeaseKeeper::new(app.db.clone(), app.leases.clone());
    let (stopping, stopped) = watch::channel(false);
    let (releasing, released) = watch::channel(false);
    let mut keeping = Services::default();
    keeping.spawn("leases", keeper.run(until(released)));
    let mut services = Services::default();
    services.spawn("retention", sweeper(&app).run(until(stopped.clone())));
    services.spawn("vault", app.vault.feed().run(until(stopped.clone())));
    services.spawn("runs", engine.run(until(stopped.clone())));
    services.spawn("channels", supervisor.run(until(stopped.clone())));
    services.spawn("readers", look_after_readers(app.clone(), until(stopped.clone())));
    services.spawn("metrics", metrics::keep_small(app.clone(), until(stopped.clone())));
    services.spawn("reload", reload_when_asked(app.clone(), hangup, until(stopped.clone())));
    let serving = Listeners { tcp: listeners.http, local: listeners.local };
    services.spawn("HTTP", http_server(&app).run(serving, stopped.clone()));
    let grpc = grpc::serve(app.clone(), listeners.grpc, stopped);
    services.spawn("gRPC", async {
        if let Err(error) = grpc.await {
            tracing::error!(error = format!("{error:#}"), "the gRPC API has ended");
        }
    });
    announce(&app).await?;

    let reason = tokio::select! {
        reason = stop::asked(asked) => Ok(reason),
        reason = node::must_stop(node, &app.leases_healthy) => reason,
        failure = services.first_end() => Err(failure),
        failure = keeping.first_end() => Err(failure),
    };
    tracing::info!(reason = reason.as_ref().map_or("a service has ended", |told| told), "stopping");
    let ending = Ending { services, stopping, keeping, releasing, file };
    let ended = ending.within_limit(&app).await;
    reason.and(ended)
}

fn sweeper(app: &App) -> Sweeper {
    let mut rules = ground_rules(app.db.engine());
    rules.extend(palyra_identity::rules());
    rules.extend(palyra_connector_core::rules());
    rules.extend(palyra_gateway::retention_rules());
    let (db, leases, clock) = (app.db.clone(), app.leases.clone(), app.clock.clone());
    Sweeper::new(db, leases, clock, rules, SWEEP_EVERY).with_blobs(app.blobs.clone())
}

async fn look_after_readers(app: App, shutdown: impl Future<Output = ()>) {
    tokio::select! {
        () = app.readers.look_after(&app) => {}
        () = shutdown => {}
    }
}

fn http_server(app: &App) -> http::Server {
    let config = &app.config().http;
    http::Server {
        router: router(app.clone()),
        connection: http::ConnectionOptions {
            patience: config.request_timeout.into(),
            max_head_bytes: config.max_header_bytes as usize,
            max_headers: config.max_headers as usize,
        },
        max_connections: config.max_connections as usize,
        max_local_connections: config.max_local_connections as usize,
        drain: config.drain_timeout.into(),
    }
}

/// SIGHUP: reads the configuration again. In a terminal it means that the terminal has gone, which
/// is a stop (see [`stop`]).
async fn reload_when_asked(app: App, mut hangup: Signal, shutdown: impl Future<Output = ()>) {
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            _ = hangup.recv() => {}
            () = &mut shutdown => return,
        }
        match settings::reload(&app).await {
            Ok(waiting) if waiting.is_empty() => tracing::info!("the configuration was reloaded"),
            Ok(waiting) => {
                tracing::warn!(?waiting, "the configuration was reloaded; these need a restart");
            }
            Err(failure) => {
                let (code, what) = (failure.envelope(), "the configuration stays as it was");
                tracing::error!(code = code.code(), error = code.message(), "{what}");
            }
        }
    }
}

/// The lines that whoever started us waits for. They go past the log, because of the link.
async fn announce(app: &App) -> Result<(), Failure> {
    let (engine, schema) = (app.db.engine().as_str(), app.db.schema().await?.version);
    let place = &app.place;
    let mut lines = format!(
        "palyrad is ready: http://{}, gRPC on {}, {engine}, schema {schema}, data in {}\n",
        place.http,
        place.grpc,
        place.data_dir.display()
    );
    let origin = palyra_identity::Origin::new("palyrad");
    let command = palyra_command(&place.data_dir);
    let first = if is_kept() { None } else { app.identity.first_login_code(&origin).await? };
    lines.push_str(&match first {
        Some(code) => {
            let link = login_link(app, code.secret.expose(), None);
            format!("log in once, within ten minutes: {link}\n")
        }
        None if app.identity.owner_has_logged_in().await? => {
            format!("`{command} dashboard` gives a link to log in with\n")
        }
        None => format!("the owner has not logged in yet: `{command} dashboard` gives a link\n"),
    });
    // A closed standard output is no reason not to work.
    let _ = std::io::stdout().write_all(lines.as_bytes());
    Ok(())
}

/// How the command line reaches the daemon on `data_dir` from a shell of its own.
fn palyra_command(data_dir: &Path) -> String {
    let around = Surroundings {
        xdg_data_home: std::env::var_os("XDG_DATA_HOME"),
        home: std::env::var_os("HOME"),
    };
    if data_dir::locate(None, around).is_some_and(|usual| usual == data_dir) {
        return "palyra".into();
    }
    let shown = data_dir.display().to_string().replace('\'', r"'\''");
    format!("palyra --data-dir '{shown}'")
}

/// Whether standard output is a file: what logs in does not belong there.
fn is_kept() -> bool {
    let file = std::io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|file| file.is_file())
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

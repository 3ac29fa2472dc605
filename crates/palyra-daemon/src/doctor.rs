//! Checks that say what they saw and what to do: from the inside of a running daemon, and before a
//! start.

mod channels;
pub(crate) mod checks;
mod preflight;
mod thinking;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use palyra_common::api::{Check, CheckState, Doctor};
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::AuthError;
use palyra_storage::lease::LeaseName;
use palyra_vault::KeyState;

use crate::app::App;
use crate::config::{self, Given};
use crate::ready::key::{self, Key};
pub(crate) use preflight::run as preflight;

/// A database that takes longer than this for one small write makes everything slow.
const SLOW_WRITE_MS: u128 = 250;

/// How many secrets that cannot be opened are named.
const NAMED: usize = 10;

/// For the database: longer than `storage.retry_for` where nobody has chosen that, so that it says
/// itself what is wrong with it. With the other checks it is less than `http.request_timeout`.
const DATABASE_TAKES: Duration = Duration::from_secs(12);

/// For each of the others, which are made at the same time.
const CHECK_TAKES: Duration = Duration::from_secs(10);

/// All checks of the running daemon.
pub(crate) async fn inside(app: &App) -> Doctor {
    let data_dir = &app.place.data_dir;
    let database = database(app).await;
    let size = async { checks::database_size(app.db.room().await) };
    let (size, blobs, vault, models, agents, runs, channels, owner) = tokio::join!(
        asking("database_size", &database, size),
        asking("blob_round_trip", &database, blobs(app)),
        vault(app, &database),
        asking("models", &database, thinking::models(app)),
        asking("agents", &database, thinking::agents(app)),
        asking("runs", &database, thinking::runs(app)),
        asking("channels", &database, channels::channels(app)),
        asking("owner", &database, owner(app)),
    );
    let checks = vec![
        database,
        size,
        blobs,
        leases(app),
        vault,
        models,
        agents,
        runs,
        channels,
        owner,
        configuration(app),
        checks::private_folder(data_dir),
        checks::disk_space(data_dir),
        checks::clock(app.clock.now()),
    ];
    app.last_look.outdate();
    Doctor { checks }
}

pub(crate) fn check(name: &str, state: CheckState, seen: impl Into<String>) -> Check {
    Check { name: name.into(), state, seen: seen.into(), advice: None, fixable: false }
}

pub(crate) fn advised(check: Check, advice: impl Into<String>) -> Check {
    Check { advice: Some(advice.into()), ..check }
}

/// A check that asks the database. Without it, it would only wait to say the same once more.
async fn asking(name: &str, database: &Check, made: impl Future<Output = Check>) -> Check {
    if database.state == CheckState::Failed {
        return check(name, CheckState::Skipped, "not looked at, because the database has failed");
    }
    let made = tokio::time::timeout(CHECK_TAKES, made).await;
    made.unwrap_or_else(|_| {
        let slow = format!("it was not done within {} s", CHECK_TAKES.as_secs());
        let failed = check(name, CheckState::Failed, slow);
        advised(failed, "Look at the log, and at what `storage` in the configuration leads to.")
    })
}

async fn database(app: &App) -> Check {
    let made = tokio::time::timeout(DATABASE_TAKES, write(app)).await;
    made.unwrap_or_else(|_| {
        let what = format!("it did not answer within {} s", DATABASE_TAKES.as_secs());
        let envelope = StableErrorEnvelope::new(ErrorCode::StorageUnavailable, what);
        let failed = check("database", CheckState::Failed, envelope.to_string());
        advised(failed, envelope.recovery_hint())
    })
}

/// A write and its commit, which is what every message costs.
async fn write(app: &App) -> Check {
    let began = Instant::now();
    let name = "database";
    let lease = app.leases.try_take(&LeaseName::new("doctor")).await;
    let took = began.elapsed().as_millis();
    match lease {
        Ok(lease) => {
            if let Some(lease) = lease {
                // Nobody waits for it; it ends by itself if this fails.
                let _ = app.leases.release(lease).await;
            }
            let version = app.db.engine_version().await.unwrap_or_default();
            let engine = app.db.engine().as_str();
            let seen = format!("{engine} {version}: a lease was taken in {took} ms");
            if took <= SLOW_WRITE_MS {
                return check(name, CheckState::Ok, seen);
            }
            let slow = check(name, CheckState::Warning, seen);
            advised(slow, "Look for a slow or busy disk, or a far-away database server.")
        }
        Err(error) => {
            let envelope = error.envelope();
            let failed = check(name, CheckState::Failed, envelope.to_string());
            advised(failed, envelope.recovery_hint())
        }
    }
}

/// What is put comes back. Nobody holds it, so it is collected after a day.
async fn blobs(app: &App) -> Check {
    let name = "blob_round_trip";
    let round_trip = async {
        let id = app.blobs.put(Bytes::from_static(b"what a doctor puts")).await?;
        app.blobs.get(&id).await
    };
    match round_trip.await {
        Ok(_) => check(name, CheckState::Ok, "what was put came back"),
        Err(error) => {
            let envelope = error.envelope();
            let failed = check(name, CheckState::Failed, envelope.to_string());
            advised(failed, envelope.recovery_hint())
        }
    }
}

fn leases(app: &App) -> Check {
    if *app.leases_healthy.load() {
        return check("leases", CheckState::Ok, "this node renews its leases");
    }
    let failed = check("leases", CheckState::Failed, "this node cannot renew its leases");
    advised(failed, "Look at the log for the reason; other nodes take over meanwhile.")
}

/// How the key is, and the secrets where they can be looked at.
async fn vault(app: &App, database: &Check) -> Check {
    if database.state == CheckState::Failed {
        return master_key(app, key::without_database(app).await);
    }
    let found = master_key(app, key::look(app).await);
    secrets(app, found).await
}

fn master_key(app: &App, key: Key) -> Check {
    let source = app.vault.key_source();
    match key {
        Key::Found(KeyState::Usable(id)) => {
            check("vault", CheckState::Ok, format!("the master key {id} is there, from {source}"))
        }
        Key::Found(KeyState::Kept(id, stand_in)) => {
            let seen = format!("the master key {id} is there, from {stand_in}");
            advised(check("vault", CheckState::Warning, seen), stand_in.advice())
        }
        Key::Doubtful { id, why } => {
            let seen = format!("the master key {id} is in memory; {why}");
            let slow = check("vault", CheckState::Warning, seen);
            advised(
                slow,
                "Look whether it waits for somebody, and at the log. Do not stop the daemon before it \
                 is known whether the next start finds the key.",
            )
        }
        Key::Found(KeyState::NotMade) => {
            let seen = format!("no secret yet; with the first one the key comes from {source}");
            check("vault", CheckState::Ok, seen)
        }
        Key::Unusable(envelope) => {
            let failed = check("vault", CheckState::Failed, envelope.to_string());
            advised(failed, envelope.recovery_hint())
        }
    }
}

/// Adds to what is said of the vault which secrets cannot be opened.
async fn secrets(app: &App, vault: Check) -> Check {
    let damaged = tokio::time::timeout(CHECK_TAKES, app.vault.damaged()).await;
    // Without its database that has failed already.
    let damaged = damaged.ok().and_then(Result::ok).unwrap_or_default();
    if damaged.is_empty() {
        return vault;
    }
    let mut names: Vec<_> = damaged.iter().take(NAMED).map(ToString::to_string).collect();
    if damaged.len() > NAMED {
        names.push(format!("{} more", damaged.len() - NAMED));
    }
    let what = format!("these secrets do not match their seal: {}", names.join(", "));
    let told = StableErrorEnvelope::new(ErrorCode::VaultDamaged, what);
    let seen = format!("{}; {told}", vault.seen);
    let advice = [vault.advice.as_deref(), Some(told.recovery_hint())];
    let advice = advice.into_iter().flatten().collect::<Vec<_>>().join(" ");
    advised(check(&vault.name, CheckState::Failed, seen), advice)
}

/// Of the file as it is now, which may have been edited since it was read.
fn configuration(app: &App) -> Check {
    let load = |given: &Given| config::load(given, &app.place.data_dir);
    let mut made = checks::config(&load(&app.given));
    if made.state == CheckState::Ok {
        // What this daemon was told beside the file may hide what is wrong in it from everybody but
        // the next start.
        let no_options = Given { flags: BTreeMap::new(), ..app.given.clone() };
        let file_alone = Given { env: BTreeMap::new(), ..no_options.clone() };
        let less = [(no_options, "command line"), (file_alone, "environment")];
        let hidden = less.iter().find_map(|(given, by)| Some((load(given).err()?, *by)));
        made = hidden.map_or(made, |(failure, by)| checks::hidden(&failure, by));
    }
    // Somebody may have written a secret there by mistake.
    made.seen = app.vault.redactor().redact(&made.seen).into_owned();
    made
}

async fn owner(app: &App) -> Check {
    let found =
        async { Ok((app.identity.has_owner().await?, app.identity.owner_has_logged_in().await?)) };
    let found: Result<_, AuthError> = found.await;
    match found {
        Ok((true, true)) => check("owner", CheckState::Ok, "the owner has logged in"),
        // Whoever works with tokens alone needs no login.
        Ok((true, false)) => {
            check("owner", CheckState::Ok, "there is an owner, who has not logged in yet")
        }
        Ok((false, _)) => {
            let seen = "there is no owner yet: nobody has logged in";
            let nobody = check("owner", CheckState::Warning, seen);
            advised(nobody, "Open the link that `palyra dashboard` gives.")
        }
        Err(error) => check("owner", CheckState::Failed, error.to_string()),
    }
}

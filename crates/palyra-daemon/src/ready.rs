//! Whether every part is ready.

pub(crate) mod key;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use palyra_common::StableErrorEnvelope;
use palyra_common::api::Readiness;
use palyra_common::time::Timestamp;
use palyra_gateway::Counts;
use palyra_storage::EngineKind;
use palyra_vault::KeyState;
use tokio::sync::Mutex;

use crate::app::{App, Live};
use crate::doctor::checks;
use key::Key;

/// How long the parts may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How old a look may be for those who only show it.
const FRESH: Duration = Duration::from_secs(1);

/// How long ago a look without a fault may have begun for somebody who wants to know how it is now:
/// less than anybody notices, and many who ask at once cost little.
const NOW: Duration = Duration::from_millis(50);

/// What a look at the parts showed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    began: Option<Instant>,
    at: Option<Instant>,
    /// How often the parts had changed when it began.
    changes: u64,
    /// None while the database is away and it was not seen before; so are the next two.
    pub(crate) schema: Option<i64>,
    pub(crate) has_owner: Option<bool>,
    pub(crate) owner_logged_in: Option<bool>,
    /// None while the database is away: other nodes go on.
    pub(crate) work: Option<Counts>,
    pub(crate) key_source: String,
    /// The key, if it can be used.
    pub(crate) key_id: Option<String>,
    /// Why it is not known whether the key is anywhere but in memory.
    pub(crate) key_doubt: Option<String>,
    /// Whether a copy of the key is used, because it is not where it belongs.
    key_is_a_copy: bool,
    /// Why secrets cannot be used.
    pub(crate) vault: Option<StableErrorEnvelope>,
    /// When that was found.
    pub(crate) vault_failed_at: Option<Timestamp>,
    /// The parts that are not ready.
    pub(crate) waiting_for: Vec<String>,
}

impl Look {
    fn is_well(&self) -> bool {
        let is_key_well = self.vault.is_none() && self.key_doubt.is_none() && !self.key_is_a_copy;
        self.waiting_for.is_empty() && is_key_well
    }

    /// Takes over from an earlier look what still holds: an owner may have come since, and none goes.
    fn keep(&mut self, before: &Self) {
        self.schema = before.schema;
        self.has_owner = before.has_owner.filter(|has| *has);
        self.owner_logged_in = before.owner_logged_in.filter(|has| *has);
    }

    /// Takes in what was seen of the key.
    fn see(&mut self, app: &App, key: Key) {
        match key {
            Key::Found(KeyState::Usable(id)) => self.key_id = Some(id.to_string()),
            Key::Found(KeyState::Kept(id, _)) => {
                (self.key_id, self.key_is_a_copy) = (Some(id.to_string()), true);
            }
            Key::Found(KeyState::NotMade) => {}
            Key::Doubtful { id, why } => {
                (self.key_id, self.key_doubt) = (Some(id.to_string()), Some(why));
            }
            Key::Unusable(problem) => {
                self.vault = Some(problem);
                self.vault_failed_at = app.vault.failed_at().or_else(|| Some(app.clock.now()));
            }
        }
    }
}

/// The last look. One caller at a time looks again; the others do not wait for it.
#[derive(Debug)]
pub(crate) struct LastLook {
    last: Live<Look>,
    looking: Mutex<()>,
    changes: AtomicU64,
}

impl LastLook {
    /// Something was changed or found out here, so that nobody is told what was seen before as if it
    /// were still so.
    pub(crate) fn outdate(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }
}

impl Default for LastLook {
    fn default() -> Self {
        Self {
            last: Live::new(Look::default()),
            looking: Mutex::default(),
            changes: AtomicU64::new(0),
        }
    }
}

/// Whether work can be taken. Anybody may ask, as often as they like.
pub(crate) async fn check(app: &App) -> Readiness {
    let waiting_for = cached(app).await.waiting_for.clone();
    Readiness { ready: waiting_for.is_empty(), waiting_for }
}

/// A look that is at most a second old, unless a new one is under way.
pub(crate) async fn cached(app: &App) -> std::sync::Arc<Look> {
    let cache = &app.last_look;
    let last = cache.last.load();
    if last.at.is_some_and(|at| at.elapsed() < FRESH) {
        return last;
    }
    let _looking = match (cache.looking.try_lock(), last.at) {
        (Ok(looking), _) => looking,
        (Err(_), Some(_)) => return last,
        (Err(_), None) => cache.looking.lock().await,
    };
    cache.last.store(look(app).await);
    cache.last.load()
}

/// How it is now, and never older than what this daemon has answered before. A fault is looked at
/// again each time: somebody may just have mended it. Of those who ask at the same time one looks for
/// all.
pub(crate) async fn fresh(app: &App) -> std::sync::Arc<Look> {
    let (cache, asked) = (&app.last_look, Instant::now());
    let last = cache.last.load();
    let is_of_now = last.began.is_some_and(|began| began.elapsed() < NOW);
    if last.is_well() && is_of_now && last.changes == cache.changes() {
        return last;
    }
    let _looking = cache.looking.lock().await;
    if cache.last.load().began.is_none_or(|began| began < asked) {
        cache.last.store(look(app).await);
    }
    cache.last.load()
}

async fn look(app: &App) -> Look {
    let changes = app.last_look.changes();
    let mut look = Look { began: Some(Instant::now()), changes, ..Look::default() };
    let database = async {
        let schema = app.db.schema().await.map(|schema| schema.version).ok()?;
        let has_owner = app.identity.has_owner().await.ok()?;
        let owner_logged_in = app.identity.owner_has_logged_in().await.ok()?;
        let room = app.db.room().await.ok()?;
        Some((schema, has_owner, owner_logged_in, Counts::read(&app.db).await.ok()?, room))
    };
    // Secrets that cannot be read stop those who need them and nothing else.
    match tokio::time::timeout(PATIENCE, database).await {
        Ok(Some((schema, has_owner, logged_in, work, room))) => {
            if room.is_some_and(checks::is_too_little) {
                look.waiting_for.push("room below storage.max_bytes".into());
            }
            (look.schema, look.work) = (Some(schema), Some(work));
            (look.has_owner, look.owner_logged_in) = (Some(has_owner), Some(logged_in));
            look.see(app, key::look(app).await);
        }
        Ok(None) | Err(_) => {
            look.keep(&app.last_look.last.load());
            look.waiting_for.push("database".into());
            look.see(app, key::without_database(app).await);
        }
    }
    // After the key, of which it may tell something.
    look.key_source = app.vault.key_source();
    // Reading goes on there, but no work can be taken.
    let keeps_rows_here = app.db.engine() == EngineKind::Sqlite;
    if keeps_rows_here && checks::has_no_room(&app.place.data_dir) {
        look.waiting_for.push("disk space".into());
    }
    if !*app.leases_healthy.load() {
        look.waiting_for.push("leases".into());
    }
    // One that is down keeps its queue, and the others work; only their supervisor matters.
    if !app.channels.pulse.is_felt(app.clock.now()) {
        look.waiting_for.push("connectors".into());
    }
    if !app.runs.pulse.is_felt(app.clock.now()) {
        look.waiting_for.push("runs".into());
    }
    look.at = Some(Instant::now());
    look
}

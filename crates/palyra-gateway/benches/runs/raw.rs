//! The raw reference: a bare database with the same tables, settings and indexes, in which the rows
//! of a run of one turn are written as the engine writes them, to the byte, and in the three commits
//! that every run of one turn needs: the question is taken on, the model is about to be asked, the
//! answer is there. Nothing is read, claimed or decided.
//!
//! On SQLite the sessions take turns in groups of 64, so that a commit is for all of them. On
//! Postgres there are as many connections as the engine has, each with sessions and a budget of its
//! own, so that none waits for another.

mod postgres;
mod sqlite;

use palyra_common::ids::{RunId, SessionId};
use palyra_storage::{Sql, new_id, params, sql, text};
use tokio::runtime::Runtime;

use crate::node::{Node, answered};
use crate::place::{Engine, Place};

pub(crate) const SESSIONS: usize = 64;

/// A database that is worked on.
pub(crate) trait Raw {
    /// Adds so many sessions, and gives their ids. That is no part of the work.
    fn sessions(&mut self, runtime: &Runtime, count: usize) -> Vec<String>;

    /// Writes `each` runs in each of these sessions, which have none yet.
    fn work(&mut self, runtime: &Runtime, sessions: &[String], each: usize);
}

const TAPE: Sql = sql!("SELECT kind, spoken, payload FROM tape WHERE run_id = $1 ORDER BY seq");

/// A bare database with the tables of `place`, which writes what `node` writes there.
pub(crate) fn beside(
    runtime: &Runtime,
    engine: Engine,
    place: &Place,
    node: &Node,
) -> Box<dyn Raw> {
    let run = runtime.block_on(async {
        let session = node.session().await;
        answered(&node.sessions, &node.streams, session).await
    });
    let tape = runtime.block_on(place.db.read(move |tx| {
        tx.query(&TAPE, params![text(run)], |row| {
            Ok(Event { kind: row.get(0)?, spoken: row.get(1)?, payload: row.get(2)? })
        })
    }));
    let tape: [Event; 6] = tape.unwrap().try_into().expect("a tape of six events");
    let bare = Place::open(runtime, engine);
    runtime.block_on(bare.db.close());
    match engine {
        Engine::Sqlite => Box::new(sqlite::Bare::open(bare, tape)),
        Engine::Postgres => Box::new(postgres::Bare::open(runtime, bare, tape)),
    }
}

/// An event as it stands on the tape of a run.
#[derive(Debug, Clone)]
struct Event {
    kind: String,
    spoken: i64,
    payload: String,
}

/// A run that is written.
struct Ids {
    session: String,
    run: String,
    /// Its place in the session.
    place: i64,
}

impl Ids {
    fn new(session: &str, place: i64) -> Self {
        Self { session: session.to_owned(), run: new_id::<RunId>().to_string(), place }
    }
}

fn session_id() -> String {
    new_id::<SessionId>().to_string()
}

/// Some time of as many digits as those that the engine writes.
const NOW: i64 = 1_800_000_000_000;
/// A budget of a day, and what is set aside of it.
const SCOPE: &str = "agent:default:day:20833";
const SCOPES: &str = "[\"agent:default:day:20833\"]";
const AMOUNT: i64 = 5_000;
const WORKER: i64 = 2;

// In the words of SQLite; Postgres says `$` for `?`.
const ADD_SESSION: &str = "INSERT INTO sessions (id, key, agent, surface, title, next_run,
        next_history, created_at, changed_at)
    VALUES (?1, ?1, 'default', 'bench', '', 1, 1, ?2, ?2)";
const ADD_BUDGET: &str = "INSERT INTO budgets (scope, spent_tokens, spent_micros, reserved_tokens,
        reserved_micros, changed_at)
    VALUES (?1, 0, 0, 0, 0, ?2)";

// The question is taken on.
const COUNT_RUN: &str =
    "UPDATE sessions SET next_run = next_run + 1, holder = ?2, changed_at = ?3 WHERE id = ?1";
const ADD_RUN: &str = "INSERT INTO runs (id, session_id, session_seq, agent, phase, worker,
        next_seq, snapshot_seq, recoveries, active, deadline, tokens, micros, depth, created_at,
        changed_at)
    VALUES (?1, ?2, ?3, 'default', 'queued', ?4, 3, 0, 0, 0, ?5, 0, 0, 0, ?5, ?5)";
const ADD_EVENT: &str =
    "INSERT INTO tape (run_id, seq, at, kind, spoken, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

// The model is about to be asked.
const RUNNING: &str = "UPDATE runs SET next_seq = 5, phase = 'running', active = 1, changed_at = ?3
    WHERE id = ?1 AND worker = ?2";
const RESERVE: &str = "UPDATE budgets SET reserved_tokens = reserved_tokens + ?2,
        reserved_micros = reserved_micros + ?2, changed_at = ?3
    WHERE scope = ?1";
const ADD_RESERVATION: &str = "INSERT INTO budget_reservations (run_id, turn, attempt, tokens,
        micros, scopes)
    VALUES (?1, 1, 1, ?2, ?2, ?3)";

// The answer is there.
const LET_GO: &str = "UPDATE sessions SET next_history = next_history + 1, holder = NULL,
        changed_at = ?2
    WHERE id = ?1";
const ENDED: &str = "UPDATE runs SET next_seq = 7, phase = 'completed', worker = NULL, active = 2,
        tokens = 100, micros = 100, history = ?3, ended = 'answered', changed_at = ?4
    WHERE id = ?1 AND worker = ?2";
const TAKE_RESERVATION: &str = "DELETE FROM budget_reservations WHERE run_id = ?1";
const SETTLE: &str = "UPDATE budgets SET reserved_tokens = reserved_tokens - ?2,
        reserved_micros = reserved_micros - ?2, spent_tokens = spent_tokens + 100,
        spent_micros = spent_micros + 100, changed_at = ?3
    WHERE scope = ?1";

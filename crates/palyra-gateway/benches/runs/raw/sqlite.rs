//! SQLite, with the settings that the writer of a database has.

use rusqlite::{Connection, Params, Transaction};
use tokio::runtime::Runtime;

use super::{
    ADD_BUDGET, ADD_EVENT, ADD_RESERVATION, ADD_RUN, ADD_SESSION, AMOUNT, COUNT_RUN, ENDED, Event,
    Ids, LET_GO, NOW, RESERVE, RUNNING, Raw, SCOPE, SCOPES, SETTLE, TAKE_RESERVATION, WORKER,
    session_id,
};
use crate::place::Place;

pub(super) struct Bare {
    connection: Connection,
    tape: [Event; 6],
    _place: Place,
}

impl Bare {
    pub(super) fn open(place: Place, tape: [Event; 6]) -> Self {
        let file = place.folder.path().join(palyra_storage::DATABASE_FILE);
        let connection = Connection::open(file).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;
                 PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;",
            )
            .unwrap();
        connection.execute(ADD_BUDGET, (SCOPE, NOW)).unwrap();
        Self { connection, tape, _place: place }
    }

    /// One commit for the same step of all of these runs.
    fn together(&mut self, runs: &[Ids], write: impl Fn(&Step<'_>, &Ids)) {
        let step = Step { unit: self.connection.transaction().unwrap(), tape: &self.tape };
        runs.iter().for_each(|run| write(&step, run));
        step.unit.commit().unwrap();
    }
}

impl Raw for Bare {
    fn sessions(&mut self, _: &Runtime, count: usize) -> Vec<String> {
        let sessions: Vec<String> = (0..count).map(|_| session_id()).collect();
        let unit = self.connection.transaction().unwrap();
        for session in &sessions {
            unit.execute(ADD_SESSION, (session, NOW)).unwrap();
        }
        unit.commit().unwrap();
        sessions
    }

    fn work(&mut self, _: &Runtime, sessions: &[String], each: usize) {
        for place in 1..=each as i64 {
            let runs: Vec<Ids> = sessions.iter().map(|id| Ids::new(id, place)).collect();
            self.together(&runs, |step, run| step.take_on(run));
            self.together(&runs, |step, run| step.ask(run));
            self.together(&runs, |step, run| step.end(run));
        }
    }
}

struct Step<'a> {
    unit: Transaction<'a>,
    tape: &'a [Event; 6],
}

impl Step<'_> {
    fn take_on(&self, run: &Ids) {
        self.execute(COUNT_RUN, (&run.session, &run.run, NOW));
        self.execute(ADD_RUN, (&run.run, &run.session, run.place, WORKER, NOW));
        self.events(run, 0);
    }

    fn ask(&self, run: &Ids) {
        self.execute(RUNNING, (&run.run, WORKER, NOW));
        self.events(run, 2);
        self.execute(RESERVE, (SCOPE, AMOUNT, NOW));
        self.execute(ADD_RESERVATION, (&run.run, AMOUNT, SCOPES));
    }

    fn end(&self, run: &Ids) {
        self.execute(LET_GO, (&run.session, NOW));
        self.execute(ENDED, (&run.run, WORKER, run.place, NOW));
        self.events(run, 4);
        self.execute(TAKE_RESERVATION, (&run.run,));
        self.execute(SETTLE, (SCOPE, AMOUNT, NOW));
    }

    fn events(&self, run: &Ids, from: usize) {
        for (at, event) in self.tape.iter().enumerate().skip(from).take(2) {
            let Event { kind, spoken, payload } = event;
            self.execute(ADD_EVENT, (&run.run, at as i64 + 1, NOW, kind, spoken, payload));
        }
    }

    fn execute(&self, sql: &str, params: impl Params) {
        assert_eq!(self.unit.prepare_cached(sql).unwrap().execute(params).unwrap(), 1);
    }
}

//! Postgres, on as many connections as a database has. The statements of a transaction are sent
//! together, and committed once all of them are answered.

use std::collections::HashMap;

use futures_util::future::{join, join_all, try_join_all};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use super::{
    ADD_BUDGET, ADD_EVENT, ADD_RESERVATION, ADD_RUN, ADD_SESSION, AMOUNT, COUNT_RUN, ENDED, Event,
    Ids, LET_GO, NOW, RESERVE, RUNNING, Raw, SCOPES, SETTLE, TAKE_RESERVATION, WORKER, session_id,
};
use crate::place::{CONNECTIONS, Place};

const STATEMENTS: [&str; 12] = [
    ADD_BUDGET,
    ADD_SESSION,
    COUNT_RUN,
    ADD_RUN,
    ADD_EVENT,
    RUNNING,
    RESERVE,
    ADD_RESERVATION,
    LET_GO,
    ENDED,
    TAKE_RESERVATION,
    SETTLE,
];

pub(super) struct Bare {
    connections: Vec<Connection>,
    _place: Place,
}

impl Bare {
    pub(super) fn open(runtime: &Runtime, place: Place, tape: [Event; 6]) -> Self {
        let url = place.postgres.as_ref().unwrap().url();
        let connections = (0..CONNECTIONS).map(|n| Connection::open(&url, n, tape.clone()));
        let connections = runtime.block_on(join_all(connections));
        Self { connections, _place: place }
    }
}

impl Raw for Bare {
    fn sessions(&mut self, runtime: &Runtime, count: usize) -> Vec<String> {
        let sessions: Vec<String> = (0..count).map(|_| session_id()).collect();
        runtime.block_on(async {
            for session in &sessions {
                self.connections[0].together(&[(ADD_SESSION, &[session, &NOW])]).await;
            }
        });
        sessions
    }

    fn work(&mut self, runtime: &Runtime, sessions: &[String], each: usize) {
        let count = self.connections.len();
        let work = self.connections.iter().enumerate().map(|(n, connection)| async move {
            for place in 1..=each as i64 {
                for session in sessions.iter().skip(n).step_by(count) {
                    connection.run(&Ids::new(session, place)).await;
                }
            }
        });
        runtime.block_on(join_all(work));
    }
}

type Call<'a> = (&'static str, &'a [&'a (dyn ToSql + Sync)]);

struct Connection {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    scope: String,
    tape: [Event; 6],
}

impl Connection {
    async fn open(url: &str, number: u32, tape: [Event; 6]) -> Self {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let mut statements = HashMap::new();
        for sql in STATEMENTS {
            statements.insert(sql, client.prepare(&sql.replace('?', "$")).await.unwrap());
        }
        let scope = format!("agent:default:day:2083{number}");
        let connection = Self { client, statements, scope, tape };
        connection.together(&[(ADD_BUDGET, &[&connection.scope, &NOW])]).await;
        connection
    }

    async fn run(&self, ids: &Ids) {
        let Ids { session, run, place } = ids;
        let (scope, seq) = (&self.scope, [1_i64, 2, 3, 4, 5, 6]);
        let event = |at: usize| -> [&(dyn ToSql + Sync); 6] {
            let Event { kind, spoken, payload } = &self.tape[at];
            [run, &seq[at], &NOW, kind, spoken, payload]
        };
        self.together(&[
            (COUNT_RUN, &[session, run, &NOW]),
            (ADD_RUN, &[run, session, place, &WORKER, &NOW]),
            (ADD_EVENT, &event(0)),
            (ADD_EVENT, &event(1)),
        ])
        .await;
        self.together(&[
            (RUNNING, &[run, &WORKER, &NOW]),
            (ADD_EVENT, &event(2)),
            (ADD_EVENT, &event(3)),
            (RESERVE, &[scope, &AMOUNT, &NOW]),
            (ADD_RESERVATION, &[run, &AMOUNT, &SCOPES]),
        ])
        .await;
        self.together(&[
            (LET_GO, &[session, &NOW]),
            (ENDED, &[run, &WORKER, place, &NOW]),
            (ADD_EVENT, &event(4)),
            (ADD_EVENT, &event(5)),
            (TAKE_RESERVATION, &[run]),
            (SETTLE, &[scope, &AMOUNT, &NOW]),
        ])
        .await;
    }

    async fn together(&self, calls: &[Call<'_>]) {
        let each = calls.iter().map(|(sql, params)| {
            let statement = &self.statements[sql];
            self.client.execute(statement, params)
        });
        let (begun, changed) = join(self.client.batch_execute("BEGIN"), try_join_all(each)).await;
        begun.unwrap();
        assert!(changed.unwrap().iter().all(|rows| *rows == 1));
        self.client.batch_execute("COMMIT").await.unwrap();
    }
}

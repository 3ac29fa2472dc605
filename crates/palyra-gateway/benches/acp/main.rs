//! What a command of the Agent Control Protocol costs with its commit, beside a bare database that writes
//! the same rows in one. Each figure is measured together with its reference, turn by turn in one run.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

#[path = "../shared/place.rs"]
mod place;
mod raw;

use std::sync::Arc;
use std::time::Instant;

use palyra_common::api::{AcpCommandEnvelope, AcpCommandResultEnvelope};
use palyra_common::ids::{Credential, Principal};
use palyra_common::runtime_contracts::Role;
use palyra_gateway::acp::{Commands, built_in};
use palyra_gateway::{Agents, Approvals, Sessions};
use palyra_identity::{Access, role_scopes};
use palyra_storage::SystemClock;
use palyra_testkit::figures::{Measured, millis, report};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use place::{Engine, Place};

const TURNS: usize = 500;
/// The first ones find nothing prepared.
const WARM_UP: usize = 20;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for (engine, suffix) in [(Engine::Sqlite, ""), (Engine::Postgres, ".postgres")] {
        dispatch(&runtime, engine, suffix);
    }
}

/// A name for a conversation: what is done is small, so that the way to it shows.
fn dispatch(runtime: &Runtime, engine: Engine, suffix: &str) {
    let place = Place::open(runtime, engine);
    let desk = runtime.block_on(Desk::new(&place));
    let mut raw = raw::beside(runtime, engine, &desk.result);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..TURNS + WARM_UP {
        let begun = Instant::now();
        let told = runtime.block_on(desk.rename(n));
        let took = millis(begun.elapsed());
        assert!(told.ok && !told.replayed);
        let begun = Instant::now();
        raw.rename(runtime, n);
        if n >= WARM_UP {
            ours.push(took);
            theirs.push(millis(begun.elapsed()));
        }
    }
    for (name, share) in [("acp.dispatch_ms", 50), ("acp.dispatch_p99_ms", 99)] {
        let (value, reference) = (quantile(&mut ours, share), quantile(&mut theirs, share));
        let measured =
            Measured { value, reference: Some(reference), ratio: Some(value / reference) };
        report(&format!("{name}{suffix}"), "ms", measured, None);
    }
}

fn quantile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * percent / 100]
}

/// Somebody who names a conversation again and again.
struct Desk {
    commands: Commands,
    access: Access,
    session: Value,
    /// What it is told each time.
    result: String,
}

impl Desk {
    async fn new(place: &Place) -> Self {
        let (db, clock) = (place.db.clone(), Arc::new(SystemClock));
        Agents::new(db.clone(), clock.clone()).set_up_first().await.unwrap();
        let sessions = Sessions::new(db.clone(), clock.clone());
        let commands = built_in(&sessions, &Approvals::new(db.clone(), clock.clone()));
        let access = Access {
            principal: Principal::owner(),
            role: Role::Owner,
            scopes: role_scopes(Role::Owner),
            credential: Credential::LocalOwner,
            expires_at: None,
        };
        let commands = Commands::new(db, clock, commands).unwrap();
        let mut desk = Self { commands, access, session: Value::Null, result: String::new() };
        let begun = desk.send("session.new", json!({}), "begin".to_owned()).await.result.unwrap();
        desk.session = begun["id"].clone();
        desk.result = begun.to_string();
        desk
    }

    async fn rename(&self, n: usize) -> AcpCommandResultEnvelope {
        let params = json!({ "session": self.session, "title": format!("name {n}") });
        self.send("session.rename", params, format!("key-{n}")).await
    }

    async fn send(&self, command: &str, params: Value, key: String) -> AcpCommandResultEnvelope {
        let envelope = AcpCommandEnvelope {
            v: 1,
            request_id: "bench".to_owned(),
            command: command.to_owned(),
            params: params.as_object().unwrap().clone(),
            idempotency_key: Some(key),
            expected_version: None,
        };
        self.commands.dispatch_acp_command(&self.access, "bench", envelope).await
    }
}

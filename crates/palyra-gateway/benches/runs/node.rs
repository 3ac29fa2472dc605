//! A node that works on runs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use palyra_common::agent::AgentSpec;
use palyra_common::ids::{AgentId, ApprovalId, RunId, SessionId};
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase, Trust};
use palyra_common::tape::Input;
use palyra_connector_core::SystemDice;
use palyra_connector_core::conformance::AsItIs;
use palyra_gateway::{
    Agents, Answer, Approvals, DEFAULT, Engine, EngineOptions, Sessions, Streams, Toolbox, Verdict,
};
use palyra_storage::SystemClock;
use palyra_storage::approval::PAGE_LIMIT;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::{LeaseKeeper, Leases};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::model::{Model, Told};
use crate::place::Place;

/// What a short question costs.
pub(crate) const QUESTION: &str = "Has the parcel to the workshop been sent already?";
/// As many as a daemon works on at once unless it is told otherwise.
const CAPACITY: usize = 64;

pub(crate) struct Node {
    pub(crate) model: Arc<Model>,
    pub(crate) sessions: Sessions,
    pub(crate) approvals: Approvals,
    pub(crate) streams: Streams,
    /// When what a human was asked about was done.
    pub(crate) done: Receiver<Instant>,
    running: JoinHandle<()>,
    keeping: JoinHandle<()>,
}

impl Node {
    /// With an agent whose runs may be long.
    pub(crate) fn start(runtime: &Runtime, place: &Place) -> Self {
        let (db, clock) = (place.db.clone(), Arc::new(SystemClock));
        let ttl = palyra_common::time::Duration::from_secs(30);
        let leases = Leases::new(db.clone(), clock.clone(), ttl);
        let (keeper, _) = LeaseKeeper::new(db.clone(), leases.clone());
        let (used, done) = channel();
        let folder = place.folder.path().join("blobs");
        let (model, streams) = (Model::new(), Streams::new(db.clone()));
        let engine = Engine::new(EngineOptions {
            db: db.clone(),
            leases,
            blobs: BlobStore::in_folder(db.clone(), clock.clone(), &folder).unwrap(),
            clock: clock.clone(),
            dice: Arc::new(SystemDice),
            thinker: model.clone(),
            tools: Toolbox::new([Told::read(), Told::risky(used)]).unwrap(),
            outgoing: Arc::new(AsItIs),
            streams: streams.clone(),
            capacity: CAPACITY,
        });
        let agents = Agents::new(db.clone(), clock.clone());
        runtime.block_on(async {
            agents.set_up_first().await.unwrap();
            let mut spec = AgentSpec::default();
            (spec.limits.turns, spec.limits.tool_calls) = (1_000, 10_000);
            agents.change(agent(), spec, None, None).await.unwrap();
        });
        Self {
            model,
            sessions: Sessions::new(db.clone(), clock.clone()).with_hands(engine.hands()),
            approvals: Approvals::new(db, clock),
            streams,
            done,
            running: runtime.spawn(engine.run(std::future::pending())),
            keeping: runtime.spawn(keeper.run(std::future::pending())),
        }
    }

    pub(crate) async fn session(&self) -> SessionId {
        self.sessions.begin(agent(), "bench", String::new()).await.unwrap().id
    }

    pub(crate) async fn say(&self, session: SessionId) -> RunId {
        say(&self.sessions, session).await
    }

    /// Waits until a run is in a phase. Looked at seldom: that is no part of the work.
    pub(crate) async fn until(&self, run: RunId, phase: RunLifecyclePhase) {
        while self.sessions.run(run).await.unwrap().phase != phase {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Questions to humans, the newest first, at most so many.
    pub(crate) async fn questions(&self, most: usize) -> Vec<(ApprovalId, RunId)> {
        let mut all: Vec<(ApprovalId, RunId)> = Vec::new();
        while all.len() < most {
            let (after, state) = (all.last().map(|(id, _)| *id), Some(ApprovalState::Pending));
            let list = self.approvals.list(after, state, PAGE_LIMIT).await.unwrap();
            if list.is_empty() {
                break;
            }
            all.extend(list.into_iter().map(|record| (record.id, record.asker.unwrap().run)));
        }
        all.truncate(most);
        all
    }

    /// Milliseconds from a yes until what it is about is done.
    pub(crate) fn resumed_after(&self, runtime: &Runtime, question: ApprovalId) -> f64 {
        let (verdict, by) = (Verdict::Approve, "bench".to_owned());
        let answer = Answer { verdict, by, reason: None, payload_sha256: None };
        let begun = Instant::now();
        runtime.block_on(self.approvals.decide(question, answer, None)).unwrap();
        let done = self.done.recv_timeout(Duration::from_secs(60)).unwrap();
        palyra_testkit::figures::millis(done - begun)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.running.abort();
        self.keeping.abort();
    }
}

pub(crate) async fn say(sessions: &Sessions, session: SessionId) -> RunId {
    let (text, sender) = (QUESTION.to_owned(), "ann".to_owned());
    let input = Input { text, sender, trust: Trust::Operator, connector: None };
    sessions.say(session, input, None).await.unwrap().run
}

/// Says something, and waits as somebody who watches would for the end of the run. Of its events only
/// what comes after the first five is read: that is its end.
pub(crate) async fn answered(sessions: &Sessions, streams: &Streams, session: SessionId) -> RunId {
    let run = say(sessions, session).await;
    let events = streams.follow(run, EVENTS - 1).next().await.unwrap();
    assert_eq!(events.last().unwrap().seq, EVENTS);
    run
}

/// Events of a run of one turn: queued, the question, running, asked, the answer, its end.
pub(crate) const EVENTS: i64 = 6;

pub(crate) fn agent() -> AgentId {
    DEFAULT.parse().unwrap()
}

pub(crate) fn quantile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * percent / 100]
}

//! A node that works on runs, with a model and tools that do what a test says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use palyra_common::agent::AgentSpec;
use palyra_common::ids::{ApprovalId, RunId, SessionId};
use palyra_common::runtime_contracts::{
    ApprovalState, RetryClass, RiskLevel, RunLifecyclePhase, ToolEffect, ToolReach, Trust,
};
use palyra_common::tape::{Input, TapeEntry, TapeEvent};
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_connector_core::{Outgoing, SystemDice};
use palyra_gateway::{
    Agents, Answer, Approvals, Engine, EngineOptions, FetchMethod, Fetched, Fetcher, GatewayError,
    Invocation, Run, Sessions, Streams, Thinker, Thought, ThoughtError, Tool, ToolDone, ToolFault,
    ToolInfo, ToolOptions, Toolbox, Verdict, Weighed, built_in,
};
use palyra_models::{
    Completion, Delta, DeltaSink, FinishReason, ModelRequest, ToolCall, Turn, Usage,
};
use palyra_policy::budget::Amount;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::{LeaseKeeper, Leases};
use palyra_storage::{Database, StorageError, SystemClock};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::world::World;

/// The system's time, and what a test adds to it.
#[derive(Default)]
pub(crate) struct Shifted(AtomicI64);

impl Shifted {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        let shift = u64::try_from(self.0.load(Ordering::SeqCst)).unwrap();
        SystemClock.now() + Duration::from_millis(shift)
    }
}

/// What the model says next.
pub(crate) enum Says {
    Text(&'static str),
    /// As long as it may be, and no longer.
    Cut(&'static str),
    /// Something, and then it uses tools.
    While(&'static str, Vec<(&'static str, String)>),
    Pieces(&'static [&'static str], Arc<Notify>),
    /// So much, and so long after it was asked that it is too late for more.
    Late(&'static [&'static str], Arc<Shifted>, Duration),
    Calls(Vec<(&'static str, String)>),
    Fails(RetryClass),
    /// It wants to be left alone for so long.
    Busy(Duration),
    /// After some work that has to be paid.
    FailsAt(Amount),
    Hangs(Arc<Notify>),
    /// Once it is told to; it tells when it was asked.
    Waits(&'static str, Arc<Notify>, Arc<Notify>),
}

/// A model that says what was written for it, and then that it has nothing to say.
#[derive(Default)]
pub(crate) struct Script {
    next: Mutex<VecDeque<Says>>,
    pub(crate) always: Mutex<Option<(&'static str, String)>>,
    pub(crate) asked: Mutex<Vec<ModelRequest>>,
    /// For each question, how many of the models were to come later.
    pub(crate) later: Mutex<Vec<u32>>,
    pub(crate) price: AtomicU32,
}

impl Script {
    pub(crate) fn then(&self, says: Says) {
        self.next.lock().unwrap().push_back(says);
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn thought(&self, text: &str, calls: Vec<(&str, String)>) -> Thought {
        let finish = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        let call = |(n, (name, arguments)): (usize, (&str, String))| ToolCall {
            id: format!("call{n}"),
            name: name.to_owned(),
            arguments,
        };
        let usage = Usage { input_tokens: 7, output_tokens: 3, cached_input_tokens: 0 };
        let calls = calls.into_iter().enumerate().map(call).collect();
        let (text, model) = (text.to_owned(), "script".to_owned());
        let micros = u64::from(self.price.load(Ordering::SeqCst));
        Thought {
            completion: Completion { text, calls, finish, usage, model },
            passed_over: Vec::new(),
            spent: Amount { tokens: 10, micros },
        }
    }
}

fn failed(class: RetryClass, owed: Amount) -> ThoughtError {
    ThoughtError { what: "it failed".into(), hint: "mend it".into(), class, after: None, owed }
}

impl Thinker for Script {
    fn think<'a>(
        &'a self,
        _: &'a [String],
        later: u32,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>> {
        self.asked.lock().unwrap().push(request.clone());
        self.later.lock().unwrap().push(later);
        let says = self.next.lock().unwrap().pop_front();
        if let Some(Says::Late(_, clock, by)) = &says {
            clock.advance(*by);
        }
        async move {
            match says {
                None => match self.always.lock().unwrap().clone() {
                    Some((tool, arguments)) => {
                        Ok(self.thought("still at it", vec![(tool, arguments)]))
                    }
                    None => Ok(self.thought("nothing", Vec::new())),
                },
                Some(Says::Text(text)) => Ok(self.thought(text, Vec::new())),
                Some(Says::Cut(text)) => {
                    let mut thought = self.thought(text, Vec::new());
                    thought.completion.finish = FinishReason::Length;
                    Ok(thought)
                }
                Some(Says::While(text, calls)) => Ok(self.thought(text, calls)),
                Some(Says::Pieces(pieces, go_on)) => {
                    for piece in pieces {
                        sink.delta(Delta::Text(piece));
                        go_on.notified().await;
                    }
                    Ok(self.thought(&pieces.concat(), Vec::new()))
                }
                Some(Says::Late(pieces, ..)) => {
                    pieces.iter().for_each(|piece| sink.delta(Delta::Text(piece)));
                    std::future::pending().await
                }
                Some(Says::Calls(calls)) => Ok(self.thought("", calls)),
                Some(Says::Fails(class)) => Err(failed(class, Amount::default())),
                Some(Says::Busy(after)) => {
                    let busy = failed(RetryClass::RateLimit, Amount::default());
                    Err(ThoughtError { after: Some(after), ..busy })
                }
                Some(Says::FailsAt(owed)) => Err(failed(RetryClass::TransientNetwork, owed)),
                Some(Says::Hangs(begun)) => {
                    begun.notify_one();
                    std::future::pending().await
                }
                Some(Says::Waits(text, begun, go_on)) => {
                    begun.notify_one();
                    go_on.notified().await;
                    Ok(self.thought(text, Vec::new()))
                }
            }
        }
        .boxed()
    }

    fn worst_case(&self, _: &[String], _: &ModelRequest) -> Amount {
        Amount { tokens: 10, micros: u64::from(self.price.load(Ordering::SeqCst)) }
    }

    fn reads(&self, _: &[String], _: u64) -> Option<u64> {
        None
    }

    fn tokens(&self, text: &str) -> u64 {
        u64::try_from(text.len() / 4 + 1).unwrap()
    }
}

/// A tool that counts how often it was used.
#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) times: AtomicU32,
    /// Changes what a call is bound to.
    pub(crate) base: AtomicU32,
    pub(crate) hang: Mutex<Option<Arc<Notify>>>,
    pub(crate) panics: std::sync::atomic::AtomicBool,
    /// What happens while a built-in tool is used.
    pub(crate) meanwhile: Mutex<Option<BoxFuture<'static, ()>>>,
}

pub(crate) struct Count {
    pub(crate) name: &'static str,
    pub(crate) effect: ToolEffect,
    pub(crate) risk: RiskLevel,
    pub(crate) counting: Arc<Counting>,
}

impl Tool for Count {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name,
            description: "counts",
            input_schema: serde_json::json!({
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        let base = self.counting.base.load(Ordering::SeqCst).to_string();
        let weighed = Weighed {
            effect: self.effect,
            risk: self.risk,
            reach: ToolReach::OwnData,
            summary: "count once more".to_owned(),
            bindings: vec![palyra_common::tape::Binding {
                name: "base".to_owned(),
                sha256: Some(base),
            }],
            with_result: false,
        };
        ready(Ok(weighed)).boxed()
    }

    fn run<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        async move {
            let times = self.counting.times.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(!self.counting.panics.load(Ordering::SeqCst), "as a test wants it");
            let hang = self.counting.hang.lock().unwrap().clone();
            if let Some(begun) = hang {
                begun.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(ToolDone::own(format!("counted {times}")))
        }
        .boxed()
    }
}

/// A built-in tool that can be made to hang.
struct Hanging {
    tool: Arc<dyn Tool>,
    counting: Arc<Counting>,
}

impl Tool for Hanging {
    fn info(&self) -> ToolInfo {
        self.tool.info()
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        self.tool.weigh(call)
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        let hang = self.counting.hang.lock().unwrap().clone();
        match hang {
            Some(begun) => {
                begun.notify_one();
                std::future::pending().boxed()
            }
            None => async move {
                let meanwhile = self.counting.meanwhile.lock().unwrap().take();
                if let Some(meanwhile) = meanwhile {
                    meanwhile.await;
                }
                self.tool.run(call).await
            }
            .boxed(),
        }
    }
}

/// No web.
struct Nowhere;

impl Fetcher for Nowhere {
    fn fetch<'a>(
        &'a self,
        _: FetchMethod,
        _: &'a str,
        _: usize,
    ) -> BoxFuture<'a, Result<Fetched, String>> {
        ready(Err("there is no web here".to_owned())).boxed()
    }
}

/// Knows one secret.
struct NoSecret;

impl Outgoing for NoSecret {
    fn clean(&self, text: &str) -> String {
        text.replace("s3cr3t", "[redacted]")
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(Self)
    }
}

pub(crate) struct Node {
    pub(crate) clock: Arc<Shifted>,
    pub(crate) script: Arc<Script>,
    pub(crate) counting: Arc<Counting>,
    pub(crate) sessions: Sessions,
    pub(crate) approvals: Approvals,
    pub(crate) agents: Agents,
    pub(crate) streams: Streams,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    keeper: JoinHandle<()>,
    pub(crate) db: Database,
    leases: Leases,
}

impl Node {
    /// A node on the database of `world`.
    pub(crate) async fn start(world: &World) -> Self {
        Self::start_on(world.db.clone(), world.folder.path()).await
    }

    pub(crate) async fn start_on(db: Database, folder: &std::path::Path) -> Self {
        let clock = Arc::new(Shifted::default());
        let (script, counting) = (Arc::new(Script::default()), Arc::new(Counting::default()));
        let leases = Leases::new(db.clone(), clock.clone(), Duration::from_secs(2));
        let keeper = keep(&db, &leases);
        let tool = |name, effect, risk| -> Arc<dyn Tool> {
            Arc::new(Count { name, effect, risk, counting: counting.clone() })
        };
        let blobs = BlobStore::in_folder(db.clone(), clock.clone(), &folder.join("blobs")).unwrap();
        let built_in = built_in(&ToolOptions {
            db: db.clone(),
            blobs: blobs.clone(),
            clock: clock.clone(),
            outgoing: Arc::new(NoSecret),
            fetcher: Arc::new(Nowhere),
            workspaces: folder.join("workspaces"),
        });
        let hanging =
            |tool| -> Arc<dyn Tool> { Arc::new(Hanging { tool, counting: counting.clone() }) };
        let test = [
            tool("test.read", ToolEffect::ReadOnly, RiskLevel::Low),
            tool("test.low", ToolEffect::SideEffect, RiskLevel::Low),
            tool("test.risky", ToolEffect::SideEffect, RiskLevel::High),
        ];
        let tools = Toolbox::new(test.into_iter().chain(built_in.into_iter().map(hanging)));
        let streams = Streams::new(db.clone());
        let engine = Engine::new(EngineOptions {
            db: db.clone(),
            leases: leases.clone(),
            blobs,
            clock: clock.clone(),
            dice: Arc::new(SystemDice),
            thinker: script.clone(),
            tools: tools.unwrap(),
            outgoing: Arc::new(NoSecret),
            streams: streams.clone(),
            capacity: 16,
        });
        let agents = Agents::new(db.clone(), clock.clone());
        agents.set_up_first().await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(engine.run(async {
            let _ = stopped.await;
        }));
        Self {
            sessions: Sessions::new(db.clone(), clock.clone()),
            approvals: Approvals::new(db.clone(), clock.clone()),
            db,
            leases,
            agents,
            streams,
            clock,
            script,
            counting,
            stop: Some(stop),
            running: Some(running),
            keeper,
        }
    }

    pub(crate) async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.running.take().unwrap().await.unwrap();
        self.keeper.abort();
        self.replays().await;
    }

    /// Whatever a story was about, what was decided in it is what would be decided today.
    async fn replays(&self) {
        for run in self.sessions.runs(None, None, None, 100).await.unwrap() {
            let replayed = match self.sessions.replay(run.id).await {
                Ok(replayed) => replayed,
                // Of a run that a story has made unreadable.
                Err(GatewayError::Storage(StorageError::InvalidValue { .. })) => continue,
                Err(error) => panic!("{error}"),
            };
            if let Some(difference) = replayed.difference {
                panic!("{difference:#?} in {:#?}", self.tape(run.id).await);
            }
        }
    }

    /// As if the process had been killed: nothing is given back.
    pub(crate) fn vanish(self) {
        self.running.as_ref().unwrap().abort();
        self.keeper.abort();
    }

    /// Its leases are not renewed any more.
    pub(crate) fn falls_behind(&self) {
        self.keeper.abort();
    }

    /// They are again.
    pub(crate) fn comes_back(&mut self) {
        self.keeper = keep(&self.db, &self.leases);
    }

    /// The agent's one question that waits for an answer.
    pub(crate) async fn question(&self) -> ApprovalId {
        loop {
            match self.pending().await[..] {
                [one] => return one,
                _ => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    }

    pub(crate) async fn session(&self) -> SessionId {
        let begun = self.sessions.begin(agent(), "test", String::new()).await;
        begun.unwrap().id
    }

    pub(crate) async fn spec(&self, change: impl FnOnce(&mut AgentSpec)) {
        let was = self.agents.get(agent()).await.unwrap();
        let mut spec = was.spec;
        change(&mut spec);
        self.agents.change(agent(), spec, None, None).await.unwrap();
    }

    pub(crate) async fn say(&self, session: SessionId, text: &str) -> RunId {
        self.say_as(session, text, Trust::Operator).await
    }

    pub(crate) async fn say_as(&self, session: SessionId, text: &str, trust: Trust) -> RunId {
        let (text, sender) = (text.to_owned(), "ann".to_owned());
        let input = Input { text, sender, trust, connector: None };
        self.sessions.say(session, input, None).await.unwrap().run
    }

    /// Waits until a run is in a phase.
    pub(crate) async fn until(&self, run: RunId, phase: RunLifecyclePhase) -> Run {
        self.until_run(run, &phase.to_string(), async |found| found.phase == phase).await
    }

    /// Waits until a run is as it is expected to be.
    pub(crate) async fn until_run(
        &self,
        run: RunId,
        what: &str,
        is_so: impl AsyncFn(&Run) -> bool,
    ) -> Run {
        let limit = std::time::Duration::from_secs(60);
        let reached = async {
            loop {
                let found = self.sessions.run(run).await.unwrap();
                if is_so(&found).await {
                    return found;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(limit, reached).await {
            Ok(found) => found,
            Err(_) => panic!("{run} never was {what}: {:#?}", self.tape(run).await),
        }
    }

    pub(crate) async fn tape(&self, run: RunId) -> Vec<TapeEntry> {
        self.sessions.tape(run, 0, 10_000).await.unwrap()
    }

    pub(crate) async fn kinds(&self, run: RunId) -> Vec<String> {
        let tape = self.tape(run).await;
        tape.iter().map(|entry| entry.event.kind().to_string()).collect()
    }

    pub(crate) async fn answer(&self, run: RunId) -> String {
        let tape = self.tape(run).await;
        let finished = tape.into_iter().find_map(|entry| match entry.event {
            TapeEvent::RunFinished(finished) => Some(finished.answer),
            _ => None,
        });
        finished.unwrap()
    }

    pub(crate) async fn pending(&self) -> Vec<ApprovalId> {
        let state = Some(ApprovalState::Pending);
        let list = self.approvals.list(None, state, 100).await.unwrap();
        list.into_iter().map(|record| record.id).collect()
    }

    pub(crate) async fn decide(
        &self,
        id: ApprovalId,
        verdict: Verdict,
    ) -> Result<ApprovalState, GatewayError> {
        let (by, reason) = ("operator:ann".to_owned(), None);
        let answer = Answer { verdict, by, reason, payload_sha256: None };
        self.approvals.decide(id, answer, None).await.map(|record| record.state())
    }

    pub(crate) fn times(&self) -> u32 {
        self.counting.times.load(Ordering::SeqCst)
    }
}

fn keep(db: &Database, leases: &Leases) -> JoinHandle<()> {
    let (keeper, _) = LeaseKeeper::new(db.clone(), leases.clone());
    tokio::spawn(keeper.run(std::future::pending()))
}

pub(crate) fn agent() -> palyra_common::ids::AgentId {
    "default".parse().unwrap()
}

/// What the last question had in it, as one text.
pub(crate) fn seen(request: &ModelRequest) -> String {
    let part = |part: &palyra_models::Part| match part {
        palyra_models::Part::Text { text } => text.clone(),
        palyra_models::Part::Image { .. } => "[image]".to_owned(),
    };
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::User { parts } => {
            format!("user: {}", parts.iter().map(part).collect::<Vec<_>>().join(" | "))
        }
        Turn::Assistant { text, calls } => {
            let calls: Vec<_> =
                calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
            format!("assistant: {text}{}", calls.join(", "))
        }
        Turn::ToolResults { results } => {
            let results: Vec<_> = results.iter().map(|result| result.content.clone()).collect();
            format!("results: {}", results.join(", "))
        }
    });
    turns.collect::<Vec<_>>().join("\n")
}

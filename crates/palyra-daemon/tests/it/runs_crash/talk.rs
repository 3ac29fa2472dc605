//! What people say to an agent whose daemon dies, and what has to come of it.

use std::collections::BTreeMap;
use std::time::Duration;

use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{ApprovalState, OutboxState, ToolOutcome};
use palyra_gateway::Verdict;
use palyra_testkit::model_sim::{Fault, MODEL, ModelSim, echo};
use palyra_testkit::seed::Rng;
use serde_json::{Value, json};

use super::rows::{Rows, deliveries, ended, side_effects};
use crate::channels_crash::world::{
    Answers, CONVERSATIONS, Engine, Memory, Platform, WORKSPACES, World, name,
};
use crate::daemon::Daemon;

/// A platform on which nothing is in doubt: what is counted here is what agents do.
const PLATFORM: Platform = Platform::new(Memory::Deduplicates, Answers::Arrive);
/// Each word of an answer takes so long, so that it is long enough to be interrupted.
const PACE: Duration = Duration::from_millis(4);
/// How often what was interrupted may have to be decided again.
const MOST_DECISIONS: u32 = 20;

/// What a message makes an agent do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Answer.
    Plain,
    /// Use something that only reads.
    Read,
    /// Say something else first: a side effect that nobody is asked about.
    Aside,
    /// Say something elsewhere, after a yes.
    Greet,
    /// Change a file, after a yes. Each time that it is done adds a line.
    Patch,
    /// Change a file, after a yes, in a way that cannot be done twice.
    Replace,
}

const KINDS: [Kind; 6] =
    [Kind::Plain, Kind::Read, Kind::Aside, Kind::Greet, Kind::Patch, Kind::Replace];

/// A world whose agent thinks with the simulator, and what its human has seen.
pub(super) struct Talk {
    pub(super) world: World,
    pub(super) sim: ModelSim,
    kinds: Vec<Kind>,
    /// Every question, with what it was decided to be.
    seen: BTreeMap<ApprovalId, Option<ApprovalState>>,
    /// Decisions of which nothing was heard.
    in_doubt: BTreeMap<ApprovalId, ApprovalState>,
}

/// What came of all that was said.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) yes: usize,
    pub(super) no: usize,
    pub(super) changes: usize,
    /// Calls that were made again because a human said so.
    pub(super) again: u32,
}

impl Talk {
    pub(super) fn new(engine: Engine) -> Self {
        Self::of(World::new(engine, PLATFORM), 1)
    }

    pub(super) fn shared_by(nodes: usize) -> Self {
        Self::of(World::shared_by(nodes, PLATFORM), nodes)
    }

    fn of(world: World, nodes: usize) -> Self {
        let sim = ModelSim::start().unwrap();
        sim.rule(|asked| echo(asked).with(Fault::Paced(PACE)));
        for node in 0..nodes {
            let file = world.data_dir(node).join("palyra.toml");
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let url = sim.openai_url();
            let models = format!(
                "\n[models]\ndefault = [\"sim\"]\ntitles = false\n\n\
                 [models.providers.sim]\nkind = \"openai\"\nbase_url = \"{url}\"\n\n\
                 [models.entries.sim]\nprovider = \"sim\"\nmodel = \"{MODEL}\"\n"
            );
            std::fs::write(file, text + &models).unwrap();
        }
        Self { world, sim, kinds: Vec::new(), seen: BTreeMap::new(), in_doubt: BTreeMap::new() }
    }

    /// Says the next thing, of the kind whose turn it is.
    pub(super) fn say_next(&mut self, daemon: &Daemon) -> bool {
        let number = usize::try_from(self.world.handed_in).unwrap();
        self.say(daemon, KINDS[number % KINDS.len()])
    }

    /// Says something, and says whether it was heard that it is kept. If it was not, it is said again
    /// in place of the next, as it is.
    pub(super) fn say(&mut self, daemon: &Daemon, kind: Kind) -> bool {
        let number = self.world.handed_in;
        let at = usize::try_from(number).unwrap();
        if self.kinds.len() <= at {
            self.kinds.push(kind);
        }
        let text = self.prepare(self.kinds[at], &name(number));
        self.world.say(daemon, &format!("c{}", number % CONVERSATIONS), &text)
    }

    fn prepare(&self, kind: Kind, name: &str) -> String {
        let (tool, arguments) = match kind {
            Kind::Plain => {
                return format!("{name} is one of those that take a few words to answer");
            }
            Kind::Read => ("time.now", json!({})),
            Kind::Aside => ("channel.send", json!({ "text": format!("aside {name}") })),
            Kind::Greet => {
                let text = format!("greeting {name}");
                let to = ("echo:default", "elsewhere");
                ("channel.send", json!({ "text": text, "connector": to.0, "conversation": to.1 }))
            }
            Kind::Patch | Kind::Replace => {
                let new = if kind == Kind::Patch { "done\nend" } else { "done" };
                let (file, path) = (self.file(name), format!("{name}.md"));
                if !file.exists() {
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(&file, "end\n").unwrap();
                }
                ("fs.patch", json!({ "path": path, "old": "end", "new": new }))
            }
        };
        format!("{name}\nuse {tool} {arguments}")
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.world.data_dir(0).join(WORKSPACES).join("default").join(format!("{name}.md"))
    }

    /// How often a file was changed.
    pub(super) fn changes(&self, name: &str) -> usize {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().filter(|line| *line == "done").count()
    }

    /// The human comes while there is no daemon, and decides about what is asked, or about some of it.
    pub(super) fn decide(&mut self, mut verdict: impl FnMut() -> Option<Verdict>) -> usize {
        let seen = &mut self.seen;
        Rows::look(self.world.rows(), async |rows| {
            let pending = rows.questions(Some(ApprovalState::Pending)).await;
            for question in &pending {
                let decided = seen.entry(question.id).or_default();
                assert_eq!(*decided, None, "decided, and asked again: {question:?}");
                if let Some(verdict) = verdict() {
                    rows.decide(question.id, verdict).await;
                    *decided = Some(decided_by(verdict));
                }
            }
            pending.len()
        })
    }

    /// At random, and not about everything.
    pub(super) fn decide_some(&mut self, random: &mut Rng) {
        self.decide(|| match random.within(0..4) {
            0 => None,
            1 => Some(Verdict::Deny),
            _ => Some(Verdict::Approve),
        });
    }

    /// The human decides about something while the daemon is there, which may die before it says
    /// that it heard that.
    pub(super) fn decide_meanwhile(&mut self, daemon: &Daemon, random: &mut Rng) {
        let Some(page) = daemon.try_get("/admin/v1/approvals?state=pending") else { return };
        let Some(question) = page["items"].as_array().and_then(|items| items.first()) else {
            return;
        };
        let id: ApprovalId = question["id"].as_str().unwrap().parse().unwrap();
        let verdict = if random.within(0..4) == 0 { Verdict::Deny } else { Verdict::Approve };
        let word = if verdict == Verdict::Deny { "deny" } else { "approve" };
        let answer = json!({ "verdict": word, "payload_sha256": question["payload_sha256"] });
        let path = format!("/admin/v1/approvals/{id}/decision");
        let state = decided_by(verdict);
        match daemon.try_local("POST", &path, &answer.to_string()) {
            Some(200) => drop(self.seen.insert(id, Some(state))),
            None => {
                self.seen.entry(id).or_default();
                self.in_doubt.insert(id, state);
            }
            Some(other) => panic!("{id} could not be decided: {other}"),
        }
    }

    /// Lets everything come to its end.
    pub(super) fn settle(&mut self, verdict: Verdict) {
        for _ in 0..MOST_DECISIONS {
            let daemon = self.world.start(None);
            self.world.await_quiet(&daemon);
            self.world.stop(daemon);
            let busy = Rows::look(self.world.rows(), async |rows| rows.is_busy().await);
            if self.decide(|| Some(verdict)) == 0 && !busy {
                return;
            }
        }
        panic!("it never comes to an end");
    }

    /// Compares all that was said with all that was done, when nothing is left to do.
    pub(super) fn check(&self) -> Outcome {
        let mut outcome = Outcome::default();
        self.check_answers(&mut outcome);
        Rows::look(self.world.rows(), async |rows| {
            self.check_questions(&rows.questions(None).await, &mut outcome);
            self.check_runs(rows, &mut outcome).await;
        });
        outcome
    }

    fn check_answers(&self, outcome: &mut Outcome) {
        let ledger = self.world.ledger();
        let text = |line: &Value| line["operation"]["text"].as_str().unwrap().to_owned();
        // Also the one of which nothing was heard when it was said.
        for (number, kind) in (0..).zip(&self.kinds) {
            let name = name(number);
            let answers: Vec<_> = ledger
                .iter()
                .filter(|line| line["operation"]["reply_to"] == name)
                .map(text)
                .collect();
            let acknowledged = number < self.world.handed_in;
            assert!(
                answers.len() == 1 || !acknowledged && answers.is_empty(),
                "{name}: {answers:?}"
            );
            for answer in answers {
                match (answer.contains("[I could not answer"), kind) {
                    (true, _) => outcome.failed += 1,
                    (false, Kind::Plain) => {
                        assert!(answer.contains(&format!("{name} is one")), "{name}: {answer}");
                        outcome.answered += 1;
                    }
                    (false, _) => {
                        assert!(answer.contains("The tool said"), "{name}: {answer}");
                        outcome.answered += 1;
                    }
                }
            }
        }
    }

    fn check_questions(
        &self,
        questions: &[palyra_storage::approval::ApprovalRecord],
        outcome: &mut Outcome,
    ) {
        let states: BTreeMap<_, _> =
            questions.iter().map(|question| (question.id, question.state())).collect();
        for (id, decided) in &self.seen {
            match (states.get(id), decided) {
                (Some(state), Some(decided)) => assert_eq!(state, decided, "{id}"),
                (Some(state), None) if self.in_doubt.get(id) == Some(state) => {}
                // A run that has ended asks no more.
                (Some(ApprovalState::Cancelled), None) => {}
                (found, None) => panic!("{id} was not decided by anybody: {found:?}"),
                (None, _) => panic!("{id} is lost"),
            }
        }
        let count = |wanted| states.values().filter(|state| **state == wanted).count();
        outcome.yes += count(ApprovalState::Approved);
        outcome.no += count(ApprovalState::Denied);
    }

    async fn check_runs(&self, rows: &Rows, outcome: &mut Outcome) {
        let mut of = BTreeMap::<String, u32>::new();
        let ledger = self.world.ledger();
        for (id, (run, tape)) in rows.tapes().await {
            let answers = run.answers.clone().unwrap();
            *of.entry(answers.clone()).or_default() += 1;
            assert!(run.ended.is_some(), "{id} has not ended: {tape:#?}");
            rows.replays(id).await;
            let mut leaves = 0;
            for (call, (made, leave)) in side_effects(&tape) {
                assert!(
                    made <= leave,
                    "{id} made {call} {made} times, with leave for {leave}: {tape:#?}"
                );
                outcome.again += made.saturating_sub(1);
                leaves += leave;
            }
            // What was begun may have been done, and nothing else.
            let changes = self.changes(&answers);
            assert!(changes <= leaves as usize, "{answers} was changed {changes} times: {tape:#?}");
            outcome.changes += changes;
            let ended = ended(&tape);
            for (_, how) in ended.iter().filter(|(tool, _)| tool == "fs.patch") {
                let is_true = match how {
                    ToolOutcome::Done => changes > 0,
                    ToolOutcome::Unknown => true,
                    ToolOutcome::Failed
                    | ToolOutcome::Refused
                    | ToolOutcome::Denied
                    | ToolOutcome::Expired => changes == 0,
                };
                assert!(is_true, "{answers} is {how:?}, with {changes} changes: {tape:#?}");
            }
            let fates = deliveries(&tape);
            assert!(fates.iter().all(|fate| *fate == OutboxState::Delivered), "{tape:#?}");
            // What goes out through a queue is never in doubt.
            let sent = |(tool, how): &&(String, ToolOutcome)| {
                tool == "channel.send" && *how == ToolOutcome::Done
            };
            let said = [format!("aside {answers}"), format!("greeting {answers}")];
            let arrived = ledger.iter().filter(|line| {
                line["operation"]["text"]
                    .as_str()
                    .is_some_and(|text| said.iter().any(|s| s == text))
            });
            assert_eq!(
                ended.iter().filter(sent).count(),
                arrived.count(),
                "{answers} said something that did not arrive, or the other way round: {tape:#?}"
            );
        }
        for (name, runs) in of {
            assert_eq!(runs, 1, "{name} is answered by {runs} runs");
        }
    }
}

fn decided_by(verdict: Verdict) -> ApprovalState {
    match verdict {
        Verdict::Approve => ApprovalState::Approved,
        Verdict::Deny => ApprovalState::Denied,
    }
}

//! What delegated runs use is used of the budgets of those that they work for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use palyra_common::agent::{AgentSpec, Budgets, Cap};
use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::{
    RetryClass, RunEnd, RunLifecyclePhase as Phase, ToolOutcome,
};
use palyra_common::tape::TapeEvent;
use palyra_gateway::{Run, Wish};
use serde_json::json;
use tokio::sync::Notify;

use super::node::{Node, Says, agent};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_delegated_run_cannot_break_the_cap_of_the_run_that_it_works_for,
    a_cap_holds_three_levels_deep,
    the_budgets_of_a_run_hold_for_those_who_work_for_it,
    whoever_works_for_their_own_agent_is_charged_once,
    what_is_no_whole_answer_is_told_with_its_reason,
    what_a_stopped_run_had_begun_elsewhere_shows_on_it,
    a_run_that_lost_its_session_does_not_go_on_before_its_turn,
    what_is_done_in_a_conversation_that_was_put_away_is_given_away_once,
    whoever_works_in_a_conversation_that_was_put_away_is_stopped,
    a_long_answer_is_read_in_pieces,
);

fn named(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn micros(most: u64) -> Cap {
    Cap { tokens: None, micros: Some(most) }
}

pub(super) fn delegate(to: &AgentId) -> Says {
    let task = json!({"agent": to, "task": "count to ten"});
    Says::Calls(vec![("agent.delegate", task.to_string())])
}

pub(super) async fn add(node: &Node, name: &str, change: impl FnOnce(&mut AgentSpec)) -> AgentId {
    let mut spec = AgentSpec::default();
    change(&mut spec);
    node.agents.add(named(name), spec, None).await.unwrap().id
}

async fn session(node: &Node, agent: &AgentId) -> SessionId {
    node.sessions.begin(agent.clone(), "test", String::new()).await.unwrap().id
}

/// The runs below one, the nearest first.
pub(super) async fn below(node: &Node, run: RunId) -> Vec<Run> {
    let all = node.sessions.runs(None, None, None, 200).await.unwrap();
    let mut found: Vec<Run> = Vec::new();
    loop {
        let above = found.last().map_or(run, |last| last.id);
        let of = |run: &&Run| run.parent.as_ref().is_some_and(|(parent, _)| *parent == above);
        match all.iter().find(of) {
            Some(next) => found.push(next.clone()),
            None => return found,
        }
    }
}

/// A node whose model asks for one more call for ever, at 400 for each answer.
async fn greedy(world: &World) -> Node {
    let node = Node::start(world).await;
    node.script.price.store(400, Ordering::SeqCst);
    *node.script.always.lock().unwrap() = Some(("test.read", "{}".to_owned()));
    node
}

async fn a_delegated_run_cannot_break_the_cap_of_the_run_that_it_works_for(world: World) {
    let node = greedy(&world).await;
    let helper = add(&node, "helper", |_| {}).await;
    for (cap, end) in [
        (micros(1_000), RunEnd::CostLimit),
        (Cap { tokens: Some(25), micros: None }, RunEnd::TokenLimit),
    ] {
        node.spec(|spec| spec.limits.cap = cap).await;
        let before = node.script.times_asked();
        node.script.then(delegate(&helper));
        let run = node.say(node.session().await, "have it counted").await;
        let ended = node.until(run, Phase::Completed).await;
        // Another answer, of either of them, could cost more than is left.
        assert_eq!((ended.ended, node.script.times_asked() - before), (Some(end), 2));
        let [child] = &below(&node, run).await[..] else { panic!() };
        assert_eq!((child.ended, child.micros), (Some(RunEnd::BudgetSpent), 400));
        assert_eq!((ended.tokens, ended.micros), (20, 800), "its own, and that of the other");
    }
    node.stop().await;
}

async fn a_cap_holds_three_levels_deep(world: World) {
    let node = greedy(&world).await;
    let helper = add(&node, "helper", |_| {}).await;
    node.spec(|spec| spec.limits.cap = micros(1_900)).await;
    (0..3).for_each(|_| node.script.then(delegate(&helper)));
    let run = node.say(node.session().await, "have it counted").await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!((ended.ended, node.script.times_asked()), (Some(RunEnd::CostLimit), 4));
    let spent: Vec<_> = below(&node, run).await.iter().map(|run| run.micros).collect();
    assert_eq!((ended.micros, &spent[..]), (1_600, &[1_200, 800, 400][..]));
    node.stop().await;
}

async fn the_budgets_of_a_run_hold_for_those_who_work_for_it(world: World) {
    let node = greedy(&world).await;
    let helper = add(&node, "helper", |_| {}).await;
    let (cap, none) = (micros(1_000), Cap::default());
    for (name, budgets) in [
        ("of-session", Budgets { session: cap, agent: none, day: none }),
        ("of-agent", Budgets { session: none, agent: cap, day: none }),
        ("of-day", Budgets { session: none, agent: none, day: cap }),
    ] {
        let agent = add(&node, name, |spec| spec.budgets = budgets).await;
        let before = node.script.times_asked();
        node.script.then(delegate(&helper));
        let session = session(&node, &agent).await;
        let run = node.say(session, "have it counted").await;
        let ended = node.until(run, Phase::Completed).await;
        assert_eq!(ended.ended, Some(RunEnd::BudgetSpent), "{name}");
        assert_eq!(node.script.times_asked() - before, 2, "{name}");
        let next = node.say(session, "and now?").await;
        assert_eq!(node.until(next, Phase::Failed).await.ended, Some(RunEnd::BudgetSpent));
    }
    // Those budgets are not the helper's.
    node.script.then(Says::Text("ten"));
    let run = node.say(session(&node, &helper).await, "count").await;
    node.until(run, Phase::Completed).await;
    node.stop().await;
}

async fn whoever_works_for_their_own_agent_is_charged_once(world: World) {
    let node = Node::start(&world).await;
    node.script.price.store(400, Ordering::SeqCst);
    node.spec(|spec| {
        (spec.budgets.agent, spec.budgets.day) = (micros(1_200), micros(1_200));
    })
    .await;
    node.script.then(delegate(&agent()));
    let run = node.say(node.session().await, "have it counted").await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!((ended.ended, ended.micros), (Some(RunEnd::Answered), 1_200));
    node.stop().await;
}

async fn what_is_no_whole_answer_is_told_with_its_reason(world: World) {
    let node = Node::start(&world).await;
    let helper = add(&node, "helper", |spec| spec.limits.turns = 1).await;
    let reads = || Says::While("I am going to look", vec![("test.read", "{}".to_owned())]);
    for (says, outcome, told) in [
        (Says::Text("ten"), ToolOutcome::Done, "ten"),
        (Says::Cut("one, two"), ToolOutcome::Failed, "The answer was cut"),
        (reads(), ToolOutcome::Failed, "the limit of turns is reached"),
        (Says::Fails(RetryClass::Permanent), ToolOutcome::Failed, "it failed"),
    ] {
        node.script.then(delegate(&helper));
        node.script.then(says);
        let run = node.say(node.session().await, "have it counted").await;
        node.until(run, Phase::Completed).await;
        let done = node.tape(run).await.into_iter().find_map(|entry| match entry.event {
            TapeEvent::ToolCompleted(done) => Some(done),
            _ => None,
        });
        let done = done.unwrap();
        assert_eq!(done.outcome, outcome, "{done:?}");
        assert!(done.content.contains(told), "{done:?}");
    }
    node.stop().await;
}

async fn what_a_stopped_run_had_begun_elsewhere_shows_on_it(world: World) {
    let node = Node::start(&world).await;
    node.script.price.store(400, Ordering::SeqCst);
    let helper = add(&node, "helper", |_| {}).await;
    let begun = Arc::new(Notify::new());
    node.script.then(delegate(&helper));
    node.script.then(delegate(&helper));
    node.script.then(Says::Hangs(begun.clone()));
    let run = node.say(node.session().await, "have it counted").await;
    begun.notified().await;
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    let children = below(&node, run).await;
    assert_eq!(children.len(), 2);
    for child in &children {
        node.until(child.id, Phase::Aborted).await;
    }
    // What was interrupted is charged with all that was set aside for it.
    let ended = node.until(run, Phase::Aborted).await;
    assert_eq!((ended.tokens, ended.micros), (30, 1_200));
    assert_eq!(node.sessions.run(children[0].id).await.unwrap().micros, 800);
    node.stop().await;
}

async fn a_run_that_lost_its_session_does_not_go_on_before_its_turn(world: World) {
    let node = Node::start(&world).await;
    let helper = add(&node, "helper", |_| {}).await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(delegate(&helper));
    node.script.then(Says::Waits("ten", begun.clone(), go_on.clone()));
    let session = node.session().await;
    let first = node.say(session, "have it counted").await;
    begun.notified().await;
    let wish = |wish| node.sessions.wish(first, wish, "ann".to_owned(), None);
    // It lets the session go, and somebody else takes it.
    wish(Wish::Pause).await.unwrap();
    let (second_begun, second_goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(Says::Waits("here", second_begun.clone(), second_goes_on.clone()));
    let second = node.say(session, "are you there?").await;
    second_begun.notified().await;
    wish(Wish::Resume).await.unwrap();
    node.script.then(Says::Text("counted"));
    go_on.notify_one();
    let [child] = &below(&node, first).await[..] else { panic!() };
    node.until(child.id, Phase::Completed).await;
    let waiting = node.sessions.run(first).await.unwrap();
    assert_eq!((waiting.phase, waiting.due_at), (Phase::Queued, None), "it is not its turn");
    second_goes_on.notify_one();
    node.until(second, Phase::Completed).await;
    node.until(first, Phase::Completed).await;
    assert_eq!(node.answer(first).await, "counted");
    assert_eq!(node.sessions.get(session).await.unwrap().holder, None);
    node.stop().await;
}

/// A run that has given its work away, whoever has it, and what lets these go on. Somebody has put their
/// conversation away.
async fn with_work_put_away(node: &Node) -> (RunId, RunId, Arc<Notify>) {
    let helper = add(node, "helper", |_| {}).await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    node.script.then(delegate(&helper));
    node.script.then(Says::Waits("ten", begun.clone(), go_on.clone()));
    let run = node.say(node.session().await, "have it counted").await;
    begun.notified().await;
    let [child] = &below(node, run).await[..] else { panic!() };
    node.sessions.archive(child.session).await.unwrap();
    (run, child.id, go_on)
}

async fn what_is_done_in_a_conversation_that_was_put_away_is_given_away_once(world: World) {
    let node = Node::start(&world).await;
    let (run, _, go_on) = with_work_put_away(&node).await;
    let wish = |wish| node.sessions.wish(run, wish, "ann".to_owned(), None);
    wish(Wish::Pause).await.unwrap();
    node.until(run, Phase::Paused).await;
    node.script.then(Says::Text("counted"));
    wish(Wish::Resume).await.unwrap();
    let started = |kind: &String| kind == "tool.started";
    let is_begun_again =
        async |_: &Run| node.kinds(run).await.into_iter().filter(started).count() == 2;
    node.until_run(run, "begun again", is_begun_again).await;
    go_on.notify_one();
    node.until(run, Phase::Completed).await;
    let all = node.sessions.runs(None, None, None, 200).await.unwrap();
    assert_eq!(all.iter().filter(|run| run.parent.is_some()).count(), 1);
    assert_eq!(node.answer(run).await, "counted");
    node.stop().await;
}

async fn whoever_works_in_a_conversation_that_was_put_away_is_stopped(world: World) {
    let node = Node::start(&world).await;
    let (run, child, _) = with_work_put_away(&node).await;
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Aborted).await;
    node.until(child, Phase::Aborted).await;
    node.stop().await;
}

async fn a_long_answer_is_read_in_pieces(world: World) {
    let node = Node::start(&world).await;
    let helper = add(&node, "helper", |_| {}).await;
    node.script.then(delegate(&helper));
    node.script.then(Says::Text(Box::leak("ten ".repeat(15_000).into_boxed_str())));
    let run = node.say(node.session().await, "have it counted").await;
    node.until(run, Phase::Completed).await;
    let done = node.tape(run).await.into_iter().find_map(|entry| match entry.event {
        TapeEvent::ToolCompleted(done) => Some(done),
        _ => None,
    });
    let done = done.unwrap();
    assert!(done.content.len() < 20_000, "{}", done.content.len());
    let id = done.artifact.unwrap();
    assert!(done.content.contains("artifact.read") && done.content.contains(&id));
    node.stop().await;
}

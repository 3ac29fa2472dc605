//! Conversations that are longer than what an agent reads at once.

use std::sync::Arc;

use palyra_common::agent::Cap;
use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::{
    AuxiliaryReason as Why, AuxiliaryTaskState as State, RetryClass, RunLifecyclePhase as Phase,
    Trust,
};
use palyra_common::tape::{AuxTask, TapeEvent};
use palyra_gateway::Wish;
use tokio::sync::Notify;

use super::node::{Node, Says, agent, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    an_early_fact_survives_in_the_summary,
    a_summary_of_what_strangers_said_is_theirs,
    nobody_waits_for_a_summary_that_fails,
    a_summary_that_is_not_one_is_repaired,
    the_summary_of_a_worker_that_is_gone_is_given_up_and_charged,
    stopping_a_run_interrupts_its_summary,
    no_summary_is_made_that_the_answer_could_not_be_paid_after,
);

const SUMMARY: &str = "Ann's boat is called Marigold.";

/// A conversation that somebody has named, with an agent that reads little at once.
async fn begin(node: &Node) -> SessionId {
    node.spec(|spec| spec.limits.context_tokens = 900).await;
    let title = "boats".to_owned();
    node.sessions.begin(agent(), "test", title).await.unwrap().id
}

/// Something long is said, and answered.
async fn fill(node: &Node, session: SessionId, trust: Trust) -> RunId {
    let said = format!("my boat is called Marigold, and {}", "so on ".repeat(60));
    let run = node.say_as(session, &said, trust).await;
    node.until(run, Phase::Completed).await;
    run
}

/// As much as an agent reads at once, and no more.
async fn filled(node: &Node, session: SessionId, trust: Trust) {
    for _ in 0..8 {
        fill(node, session, trust).await;
    }
    assert!(node.script.asked_aside.lock().unwrap().is_empty());
}

/// What is on the tape of a run about side calls.
async fn side_calls(node: &Node, run: RunId) -> Vec<AuxTask> {
    let tape = node.tape(run).await;
    let task = |event: TapeEvent| match event {
        TapeEvent::AuxTask(task) => Some(task),
        _ => None,
    };
    tape.into_iter().filter_map(|entry| task(entry.event)).collect()
}

fn states(of: &[AuxTask]) -> Vec<(State, u32)> {
    of.iter().map(|task| (task.state, task.attempt)).collect()
}

async fn an_early_fact_survives_in_the_summary(world: World) {
    let node = Node::start(&world).await;
    let session = begin(&node).await;
    filled(&node, session, Trust::Operator).await;
    node.script.aside(Says::Text(SUMMARY));
    let run = fill(&node, session, Trust::Operator).await;
    let events = side_calls(&node, run).await;
    assert_eq!(states(&events), [(State::Running, 1), (State::Succeeded, 1)]);
    let kinds = node.kinds(run).await;
    let place = |wanted: &str| kinds.iter().rposition(|kind| kind == wanted);
    assert!(place("aux.task") < place("model.requested"), "{kinds:?}");
    let wanted = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&wanted).contains("ann: my boat is called Marigold"), "{}", seen(&wanted));
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&asked).starts_with("user: [summary of what was said before]"));
    assert!(seen(&asked).contains(SUMMARY), "{}", seen(&asked));
    assert!(!asked.system.unwrap().contains("Marigold"));
    let ended = node.sessions.run(run).await.unwrap();
    assert_eq!(ended.tokens, 20, "ten for the summary");
    // It is not made again as long as there is room behind it.
    let next = fill(&node, session, Trust::Operator).await;
    assert!(side_calls(&node, next).await.is_empty());
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&asked).contains(SUMMARY), "{}", seen(&asked));
    // And the next one goes on from it.
    node.script.aside(Says::Text("More about the Marigold."));
    let mut extended = Vec::new();
    for _ in 0..8 {
        let run = fill(&node, session, Trust::Operator).await;
        extended = side_calls(&node, run).await;
        if !extended.is_empty() {
            break;
        }
    }
    assert_eq!(states(&extended), [(State::Running, 1), (State::Succeeded, 1)]);
    let wanted = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&wanted).contains(SUMMARY), "{}", seen(&wanted));
    node.stop().await;
}

async fn a_summary_of_what_strangers_said_is_theirs(world: World) {
    let node = Node::start(&world).await;
    let session = begin(&node).await;
    for _ in 0..5 {
        fill(&node, session, Trust::Untrusted).await;
    }
    node.script.aside(Says::Text(SUMMARY));
    let mut run = fill(&node, session, Trust::Operator).await;
    while side_calls(&node, run).await.is_empty() {
        run = fill(&node, session, Trust::Operator).await;
    }
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    let told = seen(&asked);
    let marked = "<untrusted origin=\"summary of what was said before\">\nAnn's boat";
    assert!(told.contains(marked), "{told}");
    assert!(!asked.system.unwrap().contains("Marigold"));
    let tape = node.tape(run).await;
    let trust = tape.into_iter().find_map(|entry| match entry.event {
        TapeEvent::ModelCompleted(answer) => Some(answer.trust),
        _ => None,
    });
    assert_eq!(trust, Some(Trust::Untrusted));
    node.stop().await;
}

async fn nobody_waits_for_a_summary_that_fails(world: World) {
    let node = Node::start(&world).await;
    let session = begin(&node).await;
    filled(&node, session, Trust::Operator).await;
    node.script.aside(Says::Fails(RetryClass::RateLimit));
    let run = fill(&node, session, Trust::Operator).await;
    let events = side_calls(&node, run).await;
    assert_eq!(states(&events), [(State::Running, 1), (State::Failed, 1)]);
    assert_eq!(events[1].reason, Some(Why::ModelFailed));
    // What is left out is told of in its own words.
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    let told = seen(&asked);
    assert!(told.contains("most of which is left out") && told.contains("Marigold"), "{told}");
    let next = fill(&node, session, Trust::Operator).await;
    assert!(side_calls(&node, next).await.is_empty(), "it is left alone for a while");
    node.stop().await;
}

async fn a_summary_that_is_not_one_is_repaired(world: World) {
    let node = Node::start(&world).await;
    let session = begin(&node).await;
    filled(&node, session, Trust::Operator).await;
    node.script.aside(Says::Text(" "));
    node.script.aside(Says::Text(SUMMARY));
    let run = fill(&node, session, Trust::Operator).await;
    let events = side_calls(&node, run).await;
    let expected = [(State::Running, 1), (State::Running, 2), (State::Succeeded, 2)];
    assert_eq!(states(&events), expected);
    assert_eq!(node.sessions.run(run).await.unwrap().tokens, 30);
    let list = node.auxiliary.list(None, (Some(run), None), None, 10).await.unwrap();
    assert_eq!((list.len(), list[0].attempts, list[0].spent.tokens), (1, 2, 20));
    node.stop().await;
}

async fn the_summary_of_a_worker_that_is_gone_is_given_up_and_charged(world: World) {
    let first = Node::start(&world).await;
    let session = begin(&first).await;
    filled(&first, session, Trust::Operator).await;
    let begun = Arc::new(Notify::new());
    first.script.aside(Says::Hangs(begun.clone()));
    let said = format!("and {}", "so on ".repeat(66));
    let run = first.say(session, &said).await;
    begun.notified().await;
    first.vanish();
    let second = Node::start_on(world.next_process().await, world.folder.path()).await;
    second.script.aside(Says::Text(SUMMARY));
    let ended = second.until(run, Phase::Completed).await;
    // Ten for the answer, and ten that were set aside for the attempt that is lost.
    assert_eq!(ended.tokens, 20);
    let events = side_calls(&second, run).await;
    assert_eq!(states(&events), [(State::Running, 1), (State::Failed, 1)]);
    assert_eq!((events[1].reason, events[1].charged_tokens), (Some(Why::Interrupted), 10));
    let list = second.auxiliary.list(None, (None, Some(session)), None, 10).await.unwrap();
    assert_eq!((list.len(), list[0].state, list[0].spent.tokens), (1, State::Failed, 10));
    assert!(second.script.asked_aside.lock().unwrap().is_empty(), "it is not made twice");
    second.stop().await;
}

async fn stopping_a_run_interrupts_its_summary(world: World) {
    let node = Node::start(&world).await;
    let session = begin(&node).await;
    filled(&node, session, Trust::Operator).await;
    let begun = Arc::new(Notify::new());
    node.script.aside(Says::Hangs(begun.clone()));
    let run = node.say(session, &"so on ".repeat(66)).await;
    begun.notified().await;
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Aborted).await;
    let events = side_calls(&node, run).await;
    assert_eq!(states(&events), [(State::Running, 1), (State::Cancelled, 1)]);
    assert_eq!(events[1].charged_tokens, 10);
    let list = node.auxiliary.list(None, (Some(run), None), None, 10).await.unwrap();
    assert_eq!(list[0].state, State::Cancelled);
    node.stop().await;
}

async fn no_summary_is_made_that_the_answer_could_not_be_paid_after(world: World) {
    let node = Node::start(&world).await;
    let session = begin(&node).await;
    filled(&node, session, Trust::Operator).await;
    node.spec(|spec| spec.limits.cap = Cap { tokens: Some(15), micros: None }).await;
    node.script.aside(Says::Text(SUMMARY));
    let run = fill(&node, session, Trust::Operator).await;
    let events = side_calls(&node, run).await;
    assert_eq!(states(&events), [(State::Failed, 1)]);
    assert_eq!(events[0].reason, Some(Why::BudgetSpent));
    assert!(node.script.asked_aside.lock().unwrap().is_empty());
    assert_eq!(node.sessions.run(run).await.unwrap().tokens, 10);
    node.stop().await;
}

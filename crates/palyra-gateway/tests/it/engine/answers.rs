//! What is said at the end of a run.

use std::sync::atomic::Ordering;

use palyra_common::agent::Cap;
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase as Phase};
use palyra_common::tape::TapeEvent;
use palyra_common::time::Duration;
use palyra_models::Usage;

use super::node::{Node, Says, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_model_without_a_word_is_no_answer,
    an_answer_that_was_cut_says_so,
    what_was_said_when_the_time_was_up_is_the_answer,
    what_an_answer_takes_beyond_what_was_set_aside_is_charged_and_shown,
);

async fn a_model_without_a_word_is_no_answer(world: World) {
    let node = Node::start(&world).await;
    node.script.then(Says::While("let me see", vec![("test.read", "{}".to_owned())]));
    node.script.then(Says::Text(" "));
    let session = node.session().await;
    let run = node.say(session, "hello").await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!(ended.ended, Some(RunEnd::NoAnswer));
    assert_eq!(node.answer(run).await, "[The model gave no answer]");
    let next = node.say(session, "well?").await;
    node.until(next, Phase::Completed).await;
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&asked).ends_with("results: counted 1\nuser: well?"), "{}", seen(&asked));
    node.stop().await;
}

async fn an_answer_that_was_cut_says_so(world: World) {
    let node = Node::start(&world).await;
    node.script.then(Says::Cut("once upon a"));
    let run = node.say(node.session().await, "tell me a story").await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!(ended.ended, Some(RunEnd::AnswerCut));
    let answer = node.answer(run).await;
    assert!(answer.starts_with("once upon a\n\n[The answer was cut"), "{answer}");
    node.stop().await;
}

/// A model that has begun to speak, and does not go on.
async fn what_was_said_when_the_time_was_up_is_the_answer(world: World) {
    let node = Node::start(&world).await;
    let limit = Duration::from_hours(1);
    node.spec(|spec| spec.limits.active = limit).await;
    node.script.then(Says::While("let me see", vec![("test.read", "{}".to_owned())]));
    // The end may be the beginning of a secret.
    let said = &["the key s3cr3t opens ", "pass"];
    node.script.then(Says::Late(said, node.clock.clone(), limit));
    let session = node.session().await;
    let run = node.say(session, "tell me").await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!(ended.ended, Some(RunEnd::TimeLimit));
    let answer = node.answer(run).await;
    assert!(answer.starts_with("the key [redacted] opens"), "{answer}");
    assert!(answer.ends_with("[I stopped: the time limit is reached]"), "{answer}");
    // The next one goes on from what was said.
    let next = node.say(session, "go on").await;
    node.until(next, Phase::Completed).await;
    let asked = seen(node.script.asked.lock().unwrap().last().unwrap());
    assert!(asked.contains("assistant: the key [redacted] opens"), "{asked}");
    node.stop().await;
}

/// A provider may count otherwise than we do, and takes what it takes.
async fn what_an_answer_takes_beyond_what_was_set_aside_is_charged_and_shown(world: World) {
    let node = Node::start(&world).await;
    node.script.price.store(400, Ordering::SeqCst);
    node.spec(|spec| spec.budgets.session = Cap { tokens: None, micros: Some(1_000) }).await;
    let usage = Usage { input_tokens: 20, output_tokens: 70, cached_input_tokens: 0 };
    node.script.then(Says::Takes("dear", usage, 1_200));
    let session = node.session().await;
    let run = node.say(session, "hello").await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!((ended.tokens, ended.micros), (90, 1_200));
    let answered = node.tape(run).await.into_iter().find_map(|entry| match entry.event {
        TapeEvent::ModelCompleted(answer) => Some(answer),
        _ => None,
    });
    let shown = answered.unwrap();
    assert_eq!((shown.input_tokens, shown.output_tokens, shown.cost_micros), (20, 70, 1_200));
    let next = node.say(session, "and now?").await;
    assert_eq!(node.until(next, Phase::Failed).await.ended, Some(RunEnd::BudgetSpent));
    assert_eq!(node.script.times_asked(), 1);
    node.stop().await;
}

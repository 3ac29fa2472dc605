//! Side calls by themselves: every kind, its budget, its repair and what follows where no model meets its
//! contract.

use std::sync::Arc;
use std::time::Duration;

use palyra_common::agent::Cap;
use palyra_common::auxiliary::{
    AuxiliaryInput, AuxiliaryOutput, ClassificationInput, ExtractionInput, ImageRef, JudgeInput,
    Named, RecallInput, Summary, SummaryInput, SummaryShape, VisionInput, contract,
};
use palyra_common::ids::AuxiliaryTaskId;
use palyra_common::runtime_contracts::{
    AuxiliaryFailureMode, AuxiliaryReason as Why, AuxiliaryTaskState as State, RetryClass,
};
use palyra_common::time::Clock;
use palyra_gateway::{AuxiliaryTask, GatewayError, Outcome, Wanted, pause_what_came_back};
use palyra_models::{Part, Turn};
use palyra_policy::auxiliary::fallback;
use palyra_policy::budget::Amount;
use palyra_storage::SystemClock;
use tokio::sync::Notify;

use super::node::{Node, Says, Script, agent};
use crate::world::{World, on_every_engine};

on_every_engine!(
    every_kind_is_made_and_repaired_and_fails_as_it_should,
    more_than_the_budget_of_tokens_is_not_taken,
    nobody_is_asked_once_the_budget_is_spent,
    without_a_model_that_follows_instructions_nobody_is_asked,
    what_passes_is_tried_again,
    what_a_worker_has_left_is_taken_up_and_the_lost_attempt_charged,
    what_keeps_losing_its_worker_gets_its_substitute,
    what_is_no_image_is_not_shown,
    what_breaks_its_contract_is_not_taken_on,
    a_task_with_a_key_is_one,
    what_came_back_is_not_asked_for_and_holds_nothing,
);

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

fn named(name: &str) -> Named {
    Named { name: name.to_owned(), meaning: format!("what {name} is") }
}

fn summary() -> AuxiliaryInput {
    let (text, shape) = ("ann: hello\nbob: well".to_owned(), SummaryShape::Notes);
    AuxiliaryInput::Summary(SummaryInput { text, before: None, shape, max_chars: 20 })
}

fn vision(blob: String) -> AuxiliaryInput {
    let image = ImageRef { media_type: "image/png".to_owned(), blob };
    AuxiliaryInput::Vision(VisionInput { prompt: "what is it?".to_owned(), images: vec![image] })
}

fn wanted(input: AuxiliaryInput) -> Wanted {
    Wanted { agent: agent(), session: None, input, key: None }
}

/// Each kind with an answer that meets its contract, and one that does not.
fn kinds(blob: String) -> Vec<(AuxiliaryInput, &'static str, &'static str)> {
    let candidates = vec!["Ann lives in Brno".to_owned(), "Bob sings".to_owned()];
    let query = "where does Ann live".to_owned();
    let recall = RecallInput { query, context: None, candidates, most: 1 };
    let text = "I want my money back, says Ann".to_owned();
    let labels = vec![named("praise"), named("complaint")];
    let classified = ClassificationInput { text: text.clone(), labels };
    let fields = vec![named("who"), named("when")];
    let judged = JudgeInput {
        goal: "sell a boat".to_owned(),
        criteria: vec!["it is paid".to_owned()],
        attempt: "somebody asked for the price".to_owned(),
    };
    vec![
        (summary(), "Ann greets Bob", "Ann greets Bob, who says that he is well"),
        (
            AuxiliaryInput::RecallSearch(recall),
            r#"{"evidence": [{"index": 0, "score": 0.9, "quote": "lives in Brno"}]}"#,
            r#"{"evidence": [{"index": 2, "score": 0.9, "quote": "of none"}]}"#,
        ),
        (
            AuxiliaryInput::Classification(classified),
            "```json\n{\"label\": \"complaint\", \"confidence\": 1}\n```",
            r#"{"label": "angry", "confidence": 1}"#,
        ),
        (
            AuxiliaryInput::Extraction(ExtractionInput { text, fields }),
            r#"{"fields": {"who": "Ann"}}"#,
            r#"{"fields": {"why": "money"}}"#,
        ),
        (
            AuxiliaryInput::ObjectiveJudge(judged),
            r#"{"met": false, "progress": 10, "reason": "not paid", "next_step": "ask"}"#,
            r#"{"met": false, "progress": 110, "reason": "not paid", "next_step": null}"#,
        ),
        (
            vision(blob),
            r#"{"description": "a cat", "text": "", "objects": ["cat"]}"#,
            "I see a cat",
        ),
    ]
}

fn saying(says: Says) -> Script {
    let script = Script::default();
    script.aside(says);
    script
}

/// What came of a task, which ends.
async fn came(node: &Node, id: AuxiliaryTaskId) -> (Outcome, AuxiliaryTask) {
    let limit = Duration::from_secs(60);
    let outcome = tokio::time::timeout(limit, node.auxiliary.wait(id)).await;
    (outcome.expect("it never ended").unwrap(), node.auxiliary.get(id).await.unwrap())
}

async fn done(node: &Node, input: &AuxiliaryInput) -> (Outcome, AuxiliaryTask) {
    let id = node.auxiliary.ask(wanted(input.clone())).await.unwrap().unwrap();
    came(node, id).await
}

async fn every_kind_is_made_and_repaired_and_fails_as_it_should(world: World) {
    let node = Node::start(&world).await;
    let blob = node.blobs.put(bytes::Bytes::from_static(PNG)).await.unwrap().to_string();
    for (input, valid, invalid) in kinds(blob) {
        let kind = input.kind();
        let of = contract(kind);
        node.script.aside(Says::Text(valid));
        let (made, task) = done(&node, &input).await;
        let Outcome::Made(output) = made else { panic!("{kind}: {made:?}") };
        assert_eq!((output.kind(), task.state, task.attempts), (kind, State::Succeeded, 1));
        assert_eq!((task.spent.tokens, task.reserved), (10, Amount::default()));
        let asked = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
        assert_eq!(asked.max_output_tokens, of.tokens, "{kind}");
        let chosen = *node.script.preferences.lock().unwrap().last().unwrap();
        assert_eq!(chosen, of.preference, "{kind}");

        node.script.aside(Says::Text(invalid));
        node.script.aside(Says::Text(valid));
        let (repaired, task) = done(&node, &input).await;
        assert_eq!(repaired, Outcome::Made(output), "{kind}");
        assert_eq!((task.attempts, task.spent.tokens), (2, 20), "{kind}");
        let asked = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
        let [_, Turn::Assistant { text, .. }, Turn::User { parts }] = &asked.turns[..] else {
            panic!("{:?}", asked.turns);
        };
        assert_eq!(text, invalid, "{kind}");
        let told = format!("{parts:?}");
        assert!(told.contains("That is not what was asked for"), "{kind}: {told}");

        node.script.aside(Says::Text(invalid));
        node.script.aside(Says::Text(invalid));
        let (failed, task) = done(&node, &input).await;
        let why = Why::InvalidOutput;
        match of.on_failure {
            AuxiliaryFailureMode::Degrade => {
                let output = fallback(&input).unwrap();
                assert_eq!(failed, Outcome::Degraded { output, why });
            }
            AuxiliaryFailureMode::FailClosed => {
                assert_eq!(failed, Outcome::Refused { why });
            }
        }
        assert_eq!((task.state, task.attempts), (State::Failed, 2), "{kind}");
        assert!(task.detail.is_some_and(|what| !what.is_empty()), "{kind}");
    }
    node.stop().await;
}

async fn more_than_the_budget_of_tokens_is_not_taken(world: World) {
    let node = Node::start(&world).await;
    node.script.aside(Says::Wordy("short", 1_201));
    let (outcome, task) = done(&node, &summary()).await;
    let output = fallback(&summary()).unwrap();
    assert_eq!(outcome, Outcome::Degraded { output, why: Why::OverBudget });
    assert_eq!((task.attempts, task.spent.tokens), (1, 10), "it is charged, and not asked again");
    node.stop().await;
}

async fn nobody_is_asked_once_the_budget_is_spent(world: World) {
    let node = Node::start(&world).await;
    // One attempt may take ten.
    let cap = Cap { tokens: Some(15), micros: None };
    node.spec(|spec| spec.budgets.day = cap).await;
    node.script.aside(Says::Text("Ann greets Bob"));
    assert!(matches!(done(&node, &summary()).await.0, Outcome::Made(_)));
    let (outcome, task) = done(&node, &summary()).await;
    let output = fallback(&summary()).unwrap();
    assert_eq!(outcome, Outcome::Degraded { output, why: Why::BudgetSpent });
    assert_eq!((task.attempts, task.spent), (0, Amount::default()));
    assert_eq!(node.script.asked_aside.lock().unwrap().len(), 1);
    node.stop().await;
}

async fn without_a_model_that_follows_instructions_nobody_is_asked(world: World) {
    let node = Node::start(&world).await;
    let (outcome, _) = done(&node, &summary()).await;
    let output = AuxiliaryOutput::Summary(Summary("ann: hello\nbob: well".to_owned()));
    assert_eq!(outcome, Outcome::Degraded { output, why: Why::NoModel });
    assert!(node.script.asked_aside.lock().unwrap().is_empty());
    node.stop().await;
}

async fn what_passes_is_tried_again(world: World) {
    let node = Node::start(&world).await;
    node.script.aside(Says::Fails(RetryClass::RateLimit));
    node.script.aside(Says::Text("Ann greets Bob"));
    let (outcome, task) = done(&node, &summary()).await;
    assert!(matches!(outcome, Outcome::Made(_)), "{outcome:?}");
    assert_eq!((task.attempts, task.spent.tokens), (2, 10));
    node.script.aside(Says::Fails(RetryClass::Permanent));
    let (outcome, task) = done(&node, &summary()).await;
    assert!(matches!(outcome, Outcome::Degraded { why: Why::ModelFailed, .. }), "{outcome:?}");
    assert_eq!(task.attempts, 1);
    node.stop().await;
}

async fn what_a_worker_has_left_is_taken_up_and_the_lost_attempt_charged(world: World) {
    let first = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    first.script.aside(Says::Hangs(begun.clone()));
    let id = first.auxiliary.ask(wanted(summary())).await.unwrap().unwrap();
    begun.notified().await;
    first.vanish();
    let script = saying(Says::Text("Ann greets Bob"));
    let db = world.next_process().await;
    let second = Node::start_with(db, world.folder.path(), script).await;
    let (outcome, task) = came(&second, id).await;
    assert!(matches!(outcome, Outcome::Made(_)), "{outcome:?}");
    // Ten for the answer, and ten that were set aside for the attempt that is lost.
    assert_eq!((task.attempts, task.spent.tokens), (2, 20));
    assert_eq!(second.script.asked_aside.lock().unwrap().len(), 1);
    second.stop().await;
}

async fn what_keeps_losing_its_worker_gets_its_substitute(world: World) {
    let (mut world, mut id) = (world, None);
    for _ in 0..3 {
        let begun = Arc::new(Notify::new());
        let script = saying(Says::Hangs(begun.clone()));
        let node = Node::start_with(world.db.clone(), world.folder.path(), script).await;
        if id.is_none() {
            id = node.auxiliary.ask(wanted(summary())).await.unwrap();
        }
        begun.notified().await;
        node.vanish();
        world = world.restarted().await;
    }
    let node = Node::start(&world).await;
    let (outcome, task) = came(&node, id.unwrap()).await;
    assert!(matches!(outcome, Outcome::Degraded { why: Why::Interrupted, .. }), "{outcome:?}");
    assert_eq!((task.attempts, task.spent.tokens), (3, 30));
    node.stop().await;
}

/// A restored database asks for nothing by itself, and nothing stays set aside for it.
async fn what_came_back_is_not_asked_for_and_holds_nothing(world: World) {
    let first = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    first.script.aside(Says::Hangs(begun.clone()));
    let keyed = Wanted { key: Some("once".to_owned()), ..wanted(summary()) };
    let id = first.auxiliary.ask(keyed.clone()).await.unwrap().unwrap();
    begun.notified().await;
    first.vanish();
    let db = world.next_process().await;
    let now = SystemClock.now();
    db.write(move |tx| pause_what_came_back(tx, now).map(drop)).await.unwrap();
    let second = Node::start_with(db, world.folder.path(), saying(Says::Text("Ann"))).await;
    let task = second.auxiliary.get(id).await.unwrap();
    assert_eq!((task.state, task.reserved.tokens), (State::Cancelled, 0));
    assert_eq!(task.spent.tokens, 10, "all that was set aside");
    let again = second.auxiliary.ask(keyed).await.unwrap();
    assert!(matches!(came(&second, again.unwrap()).await.0, Outcome::Made(_)));
    second.stop().await;
}

async fn what_is_no_image_is_not_shown(world: World) {
    let node = Node::start(&world).await;
    let seen = r#"{"description": "a cat", "text": "", "objects": []}"#;
    node.script.aside(Says::Text(seen));
    let png = node.blobs.put(bytes::Bytes::from_static(PNG)).await.unwrap();
    let (outcome, _) = done(&node, &vision(png.to_string())).await;
    assert!(matches!(outcome, Outcome::Made(_)), "{outcome:?}");
    let asked = node.script.asked_aside.lock().unwrap().last().cloned().unwrap();
    let Turn::User { parts } = &asked.turns[0] else { panic!("{:?}", asked.turns) };
    assert!(parts.iter().any(|part| matches!(part, Part::Image { bytes, .. } if bytes == PNG)));
    let text = node.blobs.put(bytes::Bytes::from_static(b"no image")).await.unwrap();
    let (outcome, task) = done(&node, &vision(text.to_string())).await;
    assert_eq!(outcome, Outcome::Refused { why: Why::InvalidInput });
    assert!(task.detail.unwrap().contains("is no image/png"));
    assert_eq!(node.script.asked_aside.lock().unwrap().len(), 1);
    node.stop().await;
}

async fn what_breaks_its_contract_is_not_taken_on(world: World) {
    let node = Node::start(&world).await;
    let labels = vec![named("one")];
    let one = ClassificationInput { text: "text".to_owned(), labels: labels.clone() };
    let twice = ClassificationInput { labels: [labels.clone(), labels].concat(), ..one.clone() };
    let image = ImageRef { media_type: "image/png".to_owned(), blob: "a".repeat(64) };
    let prompt = "what is it?".to_owned();
    let many = VisionInput { prompt, images: vec![image; 5] };
    for input in [
        AuxiliaryInput::Classification(one),
        AuxiliaryInput::Classification(twice),
        AuxiliaryInput::Vision(many),
    ] {
        let refused = node.auxiliary.ask(wanted(input)).await;
        assert!(matches!(refused, Err(GatewayError::Invalid(_))), "{refused:?}");
    }
    let list = node.auxiliary.list(None, (None, None), None, 10).await.unwrap();
    assert!(list.is_empty(), "{list:?}");
    node.stop().await;
}

async fn a_task_with_a_key_is_one(world: World) {
    let node = Node::start(&world).await;
    node.script.aside(Says::Text("Ann greets Bob"));
    let once = Wanted { key: Some("once".to_owned()), ..wanted(summary()) };
    let id = node.auxiliary.ask(once.clone()).await.unwrap().unwrap();
    assert_eq!(node.auxiliary.ask(once.clone()).await.unwrap(), None);
    came(&node, id).await;
    assert_eq!(node.auxiliary.ask(once).await.unwrap(), None);
    assert_eq!(node.script.asked_aside.lock().unwrap().len(), 1);
    node.stop().await;
}

//! Runs whose worker is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use palyra_common::runtime_contracts::{
    ApprovalSubject, RunEnd, RunLifecyclePhase as Phase, ToolOutcome,
};
use palyra_common::tape::TapeEvent;
use palyra_gateway::{Run, Sessions, Verdict, Wish};
use tokio::sync::Notify;

use super::node::{Node, Says};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_model_is_asked_again_and_the_lost_attempt_charged,
    what_only_reads_is_done_again,
    what_an_agent_may_not_use_any_more_is_not_done_again,
    what_may_have_been_done_is_done_again_only_after_a_yes,
    what_may_have_been_done_is_told_after_a_no,
    what_cannot_be_done_again_may_have_been_done,
    what_was_begun_is_unknown_when_its_run_is_stopped,
    what_a_human_was_asked_about_stays_unknown_when_its_run_is_stopped,
    questions_survive,
    a_run_that_never_gets_further_fails,
);

async fn a_model_is_asked_again_and_the_lost_attempt_charged(world: World) {
    let first = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    first.script.then(Says::Hangs(begun.clone()));
    let run = first.say(first.session().await, "hello").await;
    begun.notified().await;
    first.vanish();
    let second = Node::start_on(world.next_process().await, world.folder.path()).await;
    second.script.then(Says::Text("here I am"));
    let ended = second.until(run, Phase::Completed).await;
    assert_eq!(second.answer(run).await, "here I am");
    // Ten for the answer, and ten that were set aside for the attempt that is lost.
    assert_eq!(ended.tokens, 20);
    let tape = second.tape(run).await;
    let abandoned = tape.iter().find_map(|entry| match &entry.event {
        TapeEvent::ModelAbandoned(abandoned) => Some(abandoned.reason.as_str()),
        _ => None,
    });
    // True as well where its own node could not write it.
    assert_eq!(abandoned, Some("what came of it was not written down"));
    second.stop().await;
}

/// A run whose worker vanished while it used `tool`, and the node that takes it over.
async fn lost(world: &World, tool: &'static str) -> (Node, palyra_common::ids::RunId) {
    let first = Node::start(world).await;
    let begun = Arc::new(Notify::new());
    *first.counting.hang.lock().unwrap() = Some(begun.clone());
    first.script.then(Says::Calls(vec![(tool, "{}".to_owned())]));
    let run = first.say(first.session().await, "hello").await;
    begun.notified().await;
    assert_eq!(first.times(), 1);
    first.vanish();
    let second = Node::start_on(world.next_process().await, world.folder.path()).await;
    (second, run)
}

async fn what_only_reads_is_done_again(world: World) {
    let (node, run) = lost(&world, "test.read").await;
    node.until(run, Phase::Completed).await;
    assert_eq!(node.times(), 1);
    node.stop().await;
}

async fn what_an_agent_may_not_use_any_more_is_not_done_again(world: World) {
    let first = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    *first.counting.hang.lock().unwrap() = Some(begun.clone());
    first.script.then(Says::Calls(vec![("test.read", "{}".to_owned())]));
    let run = first.say(first.session().await, "hello").await;
    begun.notified().await;
    first.spec(|spec| spec.tools = ["fs.*".to_owned()].into()).await;
    first.vanish();
    let node = Node::start_on(world.next_process().await, world.folder.path()).await;
    node.until(run, Phase::Completed).await;
    assert_eq!(node.times(), 0);
    assert_eq!(outcomes(&node, run).await, [ToolOutcome::Failed]);
    node.stop().await;
}

async fn what_may_have_been_done_is_done_again_only_after_a_yes(world: World) {
    let (node, run) = lost(&world, "test.low").await;
    node.until(run, Phase::WaitingForApproval).await;
    assert_eq!(node.times(), 0);
    let question = node.question().await;
    let record = node.approvals.get(question).await.unwrap();
    assert_eq!(record.subject, ApprovalSubject::UnknownOutcome);
    node.decide(question, Verdict::Approve).await.unwrap();
    node.until(run, Phase::Completed).await;
    assert_eq!(node.times(), 1);
    node.stop().await;
}

async fn what_may_have_been_done_is_told_after_a_no(world: World) {
    let (node, run) = lost(&world, "test.low").await;
    let question = node.question().await;
    node.decide(question, Verdict::Deny).await.unwrap();
    node.until(run, Phase::Completed).await;
    assert_eq!(node.times(), 0);
    let tape = node.tape(run).await;
    let told = tape.iter().find_map(|entry| match &entry.event {
        TapeEvent::ToolCompleted(done) => Some(done.content.clone()),
        _ => None,
    });
    assert!(told.unwrap().contains("nobody knows whether it was done"));
    node.stop().await;
}

/// How the calls of a run ended.
async fn outcomes(node: &Node, run: palyra_common::ids::RunId) -> Vec<ToolOutcome> {
    let tape = node.tape(run).await;
    let ended = tape.iter().filter_map(|entry| match &entry.event {
        TapeEvent::ToolCompleted(done) => Some(done.outcome),
        _ => None,
    });
    ended.collect()
}

async fn what_cannot_be_done_again_may_have_been_done(world: World) {
    let first = Node::start(&world).await;
    let file = world.folder.path().join("workspaces/default/notes.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "old\n").unwrap();
    let patch = serde_json::json!({"path": "notes.md", "old": "old", "new": "new"});
    first.script.then(Says::Calls(vec![("fs.patch", patch.to_string())]));
    let run = first.say(first.session().await, "write it down").await;
    let question = first.question().await;
    let begun = Arc::new(Notify::new());
    *first.counting.hang.lock().unwrap() = Some(begun.clone());
    first.decide(question, Verdict::Approve).await.unwrap();
    begun.notified().await;
    // It is done, and nobody hears of it.
    std::fs::write(&file, "new\n").unwrap();
    first.vanish();
    let node = Node::start_on(world.next_process().await, world.folder.path()).await;
    let again = node.question().await;
    let record = node.approvals.get(again).await.unwrap();
    assert_eq!(record.subject, ApprovalSubject::UnknownOutcome);
    assert!(record.summary.contains("-old\n+new\n"), "{}", record.summary);
    assert!(record.summary.contains("old is not in the file"), "{}", record.summary);
    node.decide(again, Verdict::Approve).await.unwrap();
    node.until(run, Phase::Completed).await;
    assert_eq!(outcomes(&node, run).await, [ToolOutcome::Unknown]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
    node.stop().await;
}

async fn what_was_begun_is_unknown_when_its_run_is_stopped(world: World) {
    let first = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    *first.counting.hang.lock().unwrap() = Some(begun.clone());
    first.script.then(Says::Calls(vec![("test.low", "{}".to_owned())]));
    let run = first.say(first.session().await, "hello").await;
    begun.notified().await;
    first.vanish();
    let db = world.next_process().await;
    // Before anybody has taken it over.
    let sessions = Sessions::new(db.clone(), Arc::new(palyra_storage::SystemClock));
    sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    let node = Node::start_on(db, world.folder.path()).await;
    node.until(run, Phase::Aborted).await;
    assert_eq!(outcomes(&node, run).await, [ToolOutcome::Unknown]);
    assert!(node.kinds(run).await.ends_with(&["tool.completed".into(), "run.finished".into()]));
    node.stop().await;
}

async fn what_a_human_was_asked_about_stays_unknown_when_its_run_is_stopped(world: World) {
    let (node, run) = lost(&world, "test.low").await;
    node.until(run, Phase::WaitingForApproval).await;
    node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
    node.until(run, Phase::Aborted).await;
    assert_eq!(outcomes(&node, run).await, [ToolOutcome::Unknown]);
    assert!(node.pending().await.is_empty());
    node.stop().await;
}

async fn questions_survive(world: World) {
    let first = Node::start(&world).await;
    first.script.then(Says::Calls(vec![("test.risky", "{}".to_owned())]));
    let run = first.say(first.session().await, "hello").await;
    first.until(run, Phase::WaitingForApproval).await;
    first.vanish();
    let second = Node::start_on(world.next_process().await, world.folder.path()).await;
    let question = second.question().await;
    second.decide(question, Verdict::Approve).await.unwrap();
    second.until(run, Phase::Completed).await;
    assert_eq!(second.times(), 1);
    second.stop().await;
}

async fn a_run_that_never_gets_further_fails(world: World) {
    let mut node = Node::start(&world).await;
    let mut held = vec![world];
    let mut run = None;
    for round in 0..4 {
        let begun = Arc::new(Notify::new());
        node.script.then(Says::Hangs(begun.clone()));
        let id = match run {
            Some(id) => id,
            None => node.say(node.session().await, "hello").await,
        };
        run = Some(id);
        if round < 3 {
            begun.notified().await;
            node.counting.times.fetch_add(1, Ordering::SeqCst);
            node.vanish();
            let world = held.pop().unwrap().restarted().await;
            node = Node::start(&world).await;
            held.push(world);
        }
    }
    let ended = node.until(run.unwrap(), Phase::Failed).await;
    assert_eq!(ended.ended, Some(RunEnd::CrashLoop));
    node.stop().await;
}

mod postgres_nodes {
    use super::*;

    /// It asks a model, loses its lease and with it the run, and takes the run again.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_begun_before_a_takeover_writes_nothing_after_it() {
        let world = World::postgres().await;
        let mut first = Node::start(&world).await;
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        first.script.then(Says::Waits("from before", begun.clone(), go_on.clone()));
        first.script.then(Says::Text("from after"));
        let run = first.say(first.session().await, "hello").await;
        begun.notified().await;
        first.falls_behind();
        let second = Node::start_on(world.next_process().await, world.folder.path()).await;
        second.script.then(Says::Calls(vec![("test.risky", "{}".to_owned())]));
        second.until(run, Phase::WaitingForApproval).await;
        second.stop().await;
        first.comes_back();
        let question = first.question().await;
        first.decide(question, Verdict::Approve).await.unwrap();
        // Somebody has it again.
        let is_taken =
            async |now: &Run| now.due_at.is_none() && now.phase != Phase::WaitingForApproval;
        first.until_run(run, "taken again", is_taken).await;
        go_on.notify_one();
        first.until(run, Phase::Completed).await;
        assert_eq!(first.answer(run).await, "from after");
        assert_eq!(first.times(), 1);
        first.stop().await;
    }
}

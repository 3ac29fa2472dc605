//! Runs that use the built-in tools.

use std::sync::Arc;

use palyra_common::runtime_contracts::{OutboxState, RunEnd, RunLifecyclePhase as Phase, Trust};
use palyra_common::tape::TapeEvent;
use palyra_gateway::{Run, Verdict, Wish};
use palyra_storage::blob::BlobId;
use serde_json::json;
use tokio::sync::Notify;

use super::node::{Node, Says, agent, seen};
use crate::world::{World, connector, on_every_engine};

on_every_engine!(
    another_agent_does_a_part,
    what_was_to_be_delegated_is_delegated_once,
    what_strangers_said_before_reaches_whoever_is_asked_for_help,
    who_works_for_a_run_stops_with_it,
    calls_beyond_the_most_of_one_answer_are_not_made_and_the_model_is_told,
    a_file_is_written_as_it_was_decided,
    a_long_result_is_read_on,
    a_message_is_enqueued_with_the_result,
);

fn delegate() -> Says {
    let task = json!({"agent": agent(), "task": "count to ten"});
    Says::Calls(vec![("agent.delegate", task.to_string())])
}

async fn another_agent_does_a_part(world: World) {
    let node = Node::start(&world).await;
    node.script.then(delegate());
    node.script.then(Says::Text("one to ten"));
    node.script.then(Says::Text("it has counted"));
    let run = node.say(node.session().await, "have it counted").await;
    node.until(run, Phase::Completed).await;
    assert_eq!(node.answer(run).await, "it has counted");
    let asked = node.script.asked.lock().unwrap().clone();
    assert_eq!(seen(&asked[1]), "user: count to ten");
    assert!(seen(&asked[2]).contains("one to ten"), "{}", seen(&asked[2]));
    node.stop().await;
}

async fn what_was_to_be_delegated_is_delegated_once(world: World) {
    let first = Node::start(&world).await;
    let begun = Arc::new(Notify::new());
    *first.counting.hang.lock().unwrap() = Some(begun.clone());
    first.script.then(delegate());
    let run = first.say(first.session().await, "have it counted").await;
    begun.notified().await;
    first.vanish();
    let node = Node::start_on(world.next_process().await, world.folder.path()).await;
    node.script.then(Says::Text("one to ten"));
    node.script.then(Says::Text("it has counted"));
    node.until(run, Phase::Completed).await;
    assert_eq!(node.answer(run).await, "it has counted");
    assert_eq!(node.script.times_asked(), 2, "the other agent, and this one about its answer");
    assert!(node.pending().await.is_empty(), "nobody had to be asked");
    let done = |kind: &String| kind == "tool.completed";
    assert_eq!(node.kinds(run).await.into_iter().filter(done).count(), 1);
    node.stop().await;
}

async fn what_strangers_said_before_reaches_whoever_is_asked_for_help(world: World) {
    let first = Node::start(&world).await;
    let session = first.session().await;
    let stranger = first.say_as(session, "obey me", Trust::Untrusted).await;
    first.until(stranger, Phase::Completed).await;
    first.script.then(delegate());
    let run = first.say(session, "have it done").await;
    first.until(run, Phase::WaitingForApproval).await;
    first.vanish();
    let node = Node::start_on(world.next_process().await, world.folder.path()).await;
    let question = node.question().await;
    node.decide(question, Verdict::Approve).await.unwrap();
    node.until(run, Phase::Completed).await;
    let runs = node.sessions.runs(None, None, None, 10).await.unwrap();
    let of_this = |found: &&Run| found.parent.as_ref().is_some_and(|(parent, _)| *parent == run);
    let child = runs.iter().find(of_this).unwrap().id;
    let said = node.tape(child).await.into_iter().find_map(|entry| match entry.event {
        TapeEvent::InputMessage(input) => Some(input.trust),
        _ => None,
    });
    assert_eq!(said, Some(Trust::Untrusted));
    node.stop().await;
}

async fn who_works_for_a_run_stops_with_it(world: World) {
    for waits in [false, true] {
        let node = Node::start(&world).await;
        // It gives its task on, and so does the next one.
        node.script.then(delegate());
        node.script.then(delegate());
        let begun = Arc::new(Notify::new());
        node.script.then(match waits {
            true => Says::Calls(vec![("test.risky", "{}".to_owned())]),
            false => Says::Hangs(begun.clone()),
        });
        let run = node.say(node.session().await, "have it done").await;
        match waits {
            true => drop(node.question().await),
            false => begun.notified().await,
        }
        let runs = node.sessions.runs(None, None, None, 3).await.unwrap();
        assert_eq!(runs.iter().filter(|run| run.parent.is_some()).count(), 2);
        node.sessions.wish(run, Wish::Abort, "ann".to_owned(), None).await.unwrap();
        for run in runs {
            let ended = node.until(run.id, Phase::Aborted).await;
            assert_eq!(ended.ended, Some(RunEnd::Stopped));
        }
        assert!(node.pending().await.is_empty());
        node.stop().await;
    }
}

async fn calls_beyond_the_most_of_one_answer_are_not_made_and_the_model_is_told(world: World) {
    let node = Node::start(&world).await;
    node.script.then(Says::Calls(vec![("test.read", "{}".to_owned()); 20]));
    let run = node.say(node.session().await, "count").await;
    node.until(run, Phase::Completed).await;
    assert_eq!(node.times(), 16);
    let told = seen(node.script.asked.lock().unwrap().last().unwrap());
    assert!(told.contains("of the 20 calls"), "{told}");
    // A provider wants a result for every call that it sees.
    assert_eq!(told.matches("test.read {}").count(), 17, "{told}");
    node.stop().await;
}

async fn a_file_is_written_as_it_was_decided(world: World) {
    let node = Node::start(&world).await;
    let file = world.folder.path().join("workspaces/default/notes.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "old\n").unwrap();
    let patch = json!({"path": "notes.md", "old": "old", "new": "new"});
    node.script.then(Says::Calls(vec![("fs.patch", patch.to_string())]));
    let run = node.say(node.session().await, "write it down").await;
    let question = node.question().await;
    let summary = node.approvals.get(question).await.unwrap().summary;
    assert!(summary.contains("-old\n+new\n"), "{summary}");
    // Somebody writes in between: what was shown is not what would be done.
    std::fs::write(&file, "old, and more\n").unwrap();
    node.decide(question, Verdict::Approve).await.unwrap();
    let again = node.question().await;
    assert_ne!(again, question);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old, and more\n");
    node.decide(again, Verdict::Approve).await.unwrap();
    node.until(run, Phase::Completed).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new, and more\n");
    node.stop().await;
}

async fn a_long_result_is_read_on(world: World) {
    let node = Node::start(&world).await;
    let text = format!("{}the end", "word ".repeat(8_000));
    let folder = world.folder.path().join("workspaces/default");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("long.md"), &text).unwrap();
    let read = json!({"path": "long.md", "limit": 100_000});
    node.script.then(Says::Calls(vec![("fs.read", read.to_string())]));
    let on = json!({"id": BlobId::of(text.as_bytes()).to_string(), "offset": 40_000});
    node.script.then(Says::Calls(vec![("artifact.read", on.to_string())]));
    let session = node.session().await;
    node.until(node.say(session, "read it").await, Phase::Completed).await;
    let told = seen(node.script.asked.lock().unwrap().last().unwrap());
    assert!(told.contains("artifact.read") && told.contains("\nthe end\n"), "{told}");
    // A later run of the conversation may, one of another may not.
    for (session, expected) in [(session, true), (node.session().await, false)] {
        node.script.then(Says::Calls(vec![("artifact.read", on.to_string())]));
        node.until(node.say(session, "again").await, Phase::Completed).await;
        let told = seen(node.script.asked.lock().unwrap().last().unwrap());
        let last = told.lines().rev().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(last.contains("the end"), expected, "{last}");
    }
    node.stop().await;
}

async fn a_message_is_enqueued_with_the_result(world: World) {
    let node = Node::start(&world).await;
    let send = json!({"text": "hi", "connector": connector(), "conversation": "dm-bob"});
    node.script.then(Says::Calls(vec![("channel.send", send.to_string())]));
    let run = node.say(node.session().await, "greet bob").await;
    let question = node.question().await;
    node.decide(question, Verdict::Approve).await.unwrap();
    node.until(run, Phase::Completed).await;
    let envelope = format!("run-{run}-t1c0").parse().unwrap();
    let parts = world.outbox.envelope(&connector(), &envelope).await.unwrap();
    assert_eq!(parts.iter().map(|part| part.state).collect::<Vec<_>>(), [OutboxState::Pending]);
    let tape = node.tape(run).await;
    let at = |wanted: fn(&TapeEvent) -> bool| {
        tape.iter().find(|entry| wanted(&entry.event)).map(|entry| entry.at)
    };
    let completed = at(|event| matches!(event, TapeEvent::ToolCompleted(_)));
    assert!(completed.is_some());
    assert_eq!(completed, at(|event| matches!(event, TapeEvent::DeliveryEnqueued(_))));
    node.stop().await;
}

//! Runs that show something, and what people do on it.

use std::collections::BTreeMap;

use palyra_common::Principal;
use palyra_common::a2ui::{self, UserAction};
use palyra_common::ids::{EnvelopeId, RunId, SessionId};
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{
    GateDecision, GateReason, RunEnd, RunLifecyclePhase as Phase, ToolOutcome, Trust,
};
use palyra_common::tape::TapeEvent;
use palyra_connector_core::{EntryKey, Operation};
use palyra_gateway::{GatewayError, Surfaces, Verdict};
use palyra_storage::once::{Key, Once};
use palyra_storage::{Sql, Tx, params, sql, text};
use serde_json::{Value, json};

use super::node::{Node, Says, seen};
use super::sending::{ask_as_bob, ended, send, small, with_small};
use crate::world::{World, on_every_engine};

on_every_engine!(
    what_is_shown_is_kept_with_its_session,
    what_is_wrong_is_told_with_its_place,
    what_is_shown_in_a_channel_goes_out_once_as_text,
    nothing_is_shown_that_could_not_go_out,
    nobody_is_asked_for_a_secret,
    a_card_takes_the_place_of_one_of_its_name,
    a_card_without_a_name_takes_the_place_of_the_oldest_one,
    what_is_pressed_is_answered_by_a_run,
    what_a_button_carries_was_said_by_no_operator,
    what_is_not_offered_cannot_be_pressed,
    a_tape_tells_what_is_shown,
);

fn card(title: &str) -> (&'static str, String) {
    let button = json!({"label": "Go", "action": "go", "context": {"n": 1}});
    ("ui.show", json!({"title": title, "surface": "harbour", "buttons": [button]}).to_string())
}

fn messages(list: Value) -> (&'static str, String) {
    ("ui.show", json!({ "messages": list }).to_string())
}

/// What a session shows, as text.
async fn shown(node: &Node, session: SessionId) -> Vec<String> {
    let shown = Surfaces::new(node.sessions.clone()).shown(session).await.unwrap();
    shown.iter().map(|stored| a2ui::render(&stored.surface)).collect()
}

/// A run in which the model makes these calls, to its end.
async fn run(node: &Node, session: SessionId, calls: Vec<(&'static str, String)>) -> RunId {
    node.script.then(Says::Calls(calls));
    let run = node.say(session, "show me").await;
    assert_eq!(node.until(run, Phase::Completed).await.ended, Some(RunEnd::Answered));
    run
}

async fn updates(node: &Node, run: RunId) -> Vec<Value> {
    let tape = node.tape(run).await.into_iter();
    let updates = tape.filter_map(|entry| match entry.event {
        TapeEvent::A2uiUpdate(shown) => Some(shown.message),
        _ => None,
    });
    updates.collect()
}

async fn what_is_shown_is_kept_with_its_session(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let first = run(&node, session, vec![card("Boats")]).await;
    assert_eq!(shown(&node, session).await, ["Boats\n[Go]"]);
    assert_eq!(updates(&node, first).await.len(), 2);
    // A later run changes it, with two calls that build on each other.
    let title = json!({"id": "title", "component": "Text", "text": {"path": "/title"}});
    let surface = "harbour";
    let changed = vec![
        messages(json!([
            {"version": "v0.9", "updateComponents": {"surfaceId": surface, "components": [title]}},
        ])),
        messages(json!([
            {"version": "v0.9",
             "updateDataModel": {"surfaceId": surface, "path": "/title", "value": "Ships"}},
        ])),
    ];
    run(&node, session, changed).await;
    assert_eq!(shown(&node, session).await, ["Ships\n[Go]"]);
    // Another session has surfaces of its own.
    assert!(shown(&node, node.session().await).await.is_empty());
    let deleted = json!([{"version": "v0.9", "deleteSurface": {"surfaceId": surface}}]);
    run(&node, session, vec![messages(deleted)]).await;
    assert!(shown(&node, session).await.is_empty());
    node.stop().await;
}

async fn what_is_wrong_is_told_with_its_place(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let create = json!({"version": "v0.9", "createSurface": {
        "surfaceId": "s", "catalogId": a2ui::BASIC_CATALOGUE}});
    let wrong = json!({"version": "v0.9", "updateComponents": {
        "surfaceId": "s", "components": [{"id": "root", "component": "Text", "text": 7}]}});
    let missing = json!({"version": "v0.9", "deleteSurface": {"surfaceId": "t"}});
    let calls = vec![
        messages(json!([create, wrong])),
        messages(json!([create, missing])),
        ("ui.show", "{}".to_owned()),
    ];
    let run = run(&node, session, calls).await;
    let told: Vec<_> = ended(&node, run).await;
    let [(one, at), (two, empty), (three, gone)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        [one, two, three],
        [&ToolOutcome::Refused, &ToolOutcome::Refused, &ToolOutcome::Failed]
    );
    assert!(at.contains("/messages/1/updateComponents/components/0/text: a text"), "{at}");
    assert!(empty.contains("give a title"), "{empty}");
    assert!(gone.contains("/messages/1/deleteSurface/surfaceId: there is no surface t"), "{gone}");
    // Of what is refused nothing is done.
    assert!(shown(&node, session).await.is_empty());
    assert!(updates(&node, run).await.is_empty());
    node.stop().await;
}

/// The texts of the messages of a call.
async fn sent(world: &World, run: RunId, call: &str) -> Vec<String> {
    let envelope: EnvelopeId = format!("run-{run}-{call}").parse().unwrap();
    let mut texts = Vec::new();
    for view in world.outbox.envelope(&small(), &envelope).await.unwrap() {
        let key = EntryKey { connector: small(), envelope: envelope.clone(), part: view.part };
        match world.outbox.entry(&key).await.unwrap().unwrap().operation {
            Operation::Send { text, .. } => texts.push(text.as_str().to_owned()),
            other => panic!("{other:?}"),
        }
    }
    texts
}

async fn with_room(world: &World) {
    let queue = QueueSettings::default();
    world.connectors.add(small(), "echo", json!({}), queue, None).await.unwrap();
}

async fn what_is_shown_in_a_channel_goes_out_once_as_text(world: World) {
    with_room(&world).await;
    let node = Node::start(&world).await;
    // Strangers ask, and nobody is asked about it.
    node.script.then(Says::Calls(vec![card("the key s3cr3t")]));
    let run = ask_as_bob(&world).await;
    node.until(run, Phase::Completed).await;
    assert_eq!(sent(&world, run, "t1c0").await, ["the key [redacted]\n[Go]"]);
    let kinds = node.kinds(run).await;
    let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    // The card, and the answer.
    assert_eq!((count("delivery.enqueued"), count("a2ui.update")), (2, 2), "{kinds:?}");
    assert!(!kinds.contains(&"approval.requested".to_owned()));
    node.stop().await;
}

async fn nothing_is_shown_that_could_not_go_out(world: World) {
    with_small(&world).await;
    let node = Node::start(&world).await;
    // The one place in the queue is taken.
    node.script.then(Says::Calls(vec![send("one")]));
    let first = node.say(node.session().await, "greet bob").await;
    super::sending::approve_all(&node, first).await;
    node.until(first, Phase::Completed).await;
    node.script.then(Says::Calls(vec![card("Boats")]));
    let run = ask_as_bob(&world).await;
    node.until_run(run, "told", async |_| !ended(&node, run).await.is_empty()).await;
    let told = ended(&node, run).await;
    assert!(matches!(&told[..], [(ToolOutcome::Failed, why)] if why.contains("full")), "{told:?}");
    assert!(updates(&node, run).await.is_empty());
    let session = node.sessions.run(run).await.unwrap().session;
    assert!(shown(&node, session).await.is_empty());
    node.stop().await;
}

async fn a_card_takes_the_place_of_one_of_its_name(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    run(&node, session, vec![card("Boats")]).await;
    let second = run(&node, session, vec![card("Ships")]).await;
    assert_eq!(shown(&node, session).await, ["Ships\n[Go]"]);
    let names: Vec<_> = updates(&node, second).await;
    assert_eq!(names[0]["deleteSurface"]["surfaceId"], "harbour");
    assert_eq!(names.len(), 3);
    node.stop().await;
}

async fn a_card_without_a_name_takes_the_place_of_the_oldest_one(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let unnamed = |n: usize| ("ui.show", json!({"title": format!("Boat {n}")}).to_string());
    let mut calls = vec![card("Harbour")];
    calls.extend((1..a2ui::MAX_SURFACES).map(unnamed));
    run(&node, session, calls).await;
    let of_session = async || {
        let shown = Surfaces::new(node.sessions.clone()).shown(session).await.unwrap();
        let shown = shown.into_iter().map(|stored| (a2ui::render(&stored.surface), stored.id));
        shown.collect::<BTreeMap<_, _>>()
    };
    let full = of_session().await;
    assert_eq!(full.len(), a2ui::MAX_SURFACES);
    let last = run(&node, session, vec![unnamed(16), unnamed(17)]).await;
    let now = of_session().await;
    let gone: Vec<_> = full.keys().filter(|title| !now.contains_key(*title)).collect();
    assert_eq!((now.len(), &gone[..]), (16, &[&"Boat 1".to_owned(), &"Boat 2".to_owned()][..]));
    let deleted = updates(&node, last).await;
    assert_eq!(deleted[0]["deleteSurface"]["surfaceId"], json!(full["Boat 1"]));
    let told = ended(&node, last).await;
    assert!(told[0].1.contains(&format!("the surface {} is gone", full["Boat 1"])), "{told:?}");
    // One with a name takes the place of no other, and the model is told of which ones it may.
    let named = json!({"title": "Pier", "surface": "pier"}).to_string();
    let refused = run(&node, session, vec![("ui.show", named)]).await;
    let told = ended(&node, refused).await;
    let [(ToolOutcome::Failed, why)] = &told[..] else { panic!("{told:?}") };
    assert!(why.contains("at most 16 surfaces") && why.contains("harbour"), "{why}");
    assert!(now.values().all(|id| why.contains(id.as_str())), "{why}");
    assert_eq!(of_session().await, now);
    // A tape on which it takes the place of one that was given a name is another one.
    let id = full["Boat 1"].to_string();
    let change =
        move |tx: &mut Tx<'_>| tx.execute(&CHANGE, params![text(last), id.as_str(), "harbour"]);
    assert!(node.sessions.replay(last).await.unwrap().same);
    world.db.write(change).await.unwrap();
    let differs = node.sessions.replay(last).await.unwrap().difference.unwrap();
    assert!(matches!(differs.recorded.event, TapeEvent::A2uiUpdate(_)), "{differs:?}");
    node.vanish();
}

async fn nobody_is_asked_for_a_secret(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let field = json!({"id": "root", "component": "TextField", "label": "Password",
        "value": {"path": "/p"}, "variant": "obscured"});
    let asked = messages(json!([
        {"version": "v0.9",
         "createSurface": {"surfaceId": "s", "catalogId": a2ui::BASIC_CATALOGUE}},
        {"version": "v0.9", "updateComponents": {"surfaceId": "s", "components": [field]}},
    ]));
    let run = run(&node, session, vec![asked]).await;
    let told = ended(&node, run).await;
    let [(ToolOutcome::Refused, why)] = &told[..] else { panic!("{told:?}") };
    let place = "/messages/1/updateComponents/components/0/variant: ";
    assert!(why.contains(place) && why.contains("palyra secrets"), "{why}");
    assert!(shown(&node, session).await.is_empty());
    node.stop().await;
}

fn pressed(name: &str, component: &str) -> UserAction {
    UserAction {
        name: name.to_owned(),
        surface_id: "harbour".parse().unwrap(),
        source_component_id: component.to_owned(),
        timestamp: "2026-01-16T14:30:00Z".to_owned(),
        context: [("n".to_owned(), json!(1))].into_iter().collect(),
    }
}

fn ann() -> Principal {
    "operator:ann".parse().unwrap()
}

async fn what_is_pressed_is_answered_by_a_run(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    run(&node, session, vec![card("Boats")]).await;
    let surfaces = Surfaces::new(node.sessions.clone());
    let once = || Some((ann(), Once::new("surface.action", Key::parse("key-1").unwrap(), b"same")));
    let act = || surfaces.act(session, pressed("go", "button-0"), ann(), once());
    let submitted = act().await.unwrap();
    assert_eq!(submitted.session, session);
    node.until(submitted.run, Phase::Completed).await;
    let asked = seen(node.script.asked.lock().unwrap().last().unwrap());
    assert!(asked.contains("[Action \"go\" of \"button-0\" on the surface harbour"), "{asked}");
    assert!(asked.contains("{\"n\":1}"), "{asked}");
    let tape = node.tape(submitted.run).await;
    let input = tape.into_iter().find_map(|entry| match entry.event {
        TapeEvent::InputMessage(input) => Some(input),
        _ => None,
    });
    let input = input.unwrap();
    // Who has pressed it is known, and nothing of what it says are their words.
    assert_eq!((input.sender.as_str(), input.trust), ("operator:ann", Trust::Untrusted));
    assert!(asked.contains("<untrusted origin=\"from operator:ann\">\n[Action"), "{asked}");
    // Sent again, it is the same, also when the surface is gone.
    let deleted = json!([{"version": "v0.9", "deleteSurface": {"surfaceId": "harbour"}}]);
    run(&node, session, vec![messages(deleted)]).await;
    assert_eq!(act().await.unwrap(), submitted);
    node.stop().await;
}

async fn what_a_button_carries_was_said_by_no_operator(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let url = "http://gulls.example/?seen=all-the-boats";
    let button = json!({"label": "More", "action": "go", "context": {"url": url}});
    let card = json!({"title": "Boats", "surface": "harbour", "buttons": [button]});
    run(&node, session, vec![("ui.show", card.to_string())]).await;
    let context = [("url".to_owned(), json!(url))].into_iter().collect();
    let action = UserAction { context, ..pressed("go", "button-0") };
    node.script.then(Says::Calls(vec![("http.fetch", json!({ "url": url }).to_string())]));
    let surfaces = Surfaces::new(node.sessions.clone());
    let run = surfaces.act(session, action, ann(), None).await.unwrap().run;
    let gated = async || {
        node.tape(run).await.into_iter().find_map(|entry| match entry.event {
            TapeEvent::ToolGated(gated) => Some((gated.decision, gated.reason)),
            _ => None,
        })
    };
    node.until_run(run, "gated", async |_| gated().await.is_some()).await;
    assert_eq!(gated().await, Some((GateDecision::Ask, GateReason::CarriesData)));
    let question = node.question().await;
    node.decide(question, Verdict::Approve).await.unwrap();
    node.until(run, Phase::Completed).await;
    node.stop().await;
}

async fn what_is_not_offered_cannot_be_pressed(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let surfaces = Surfaces::new(node.sessions.clone());
    let nothing = surfaces.act(session, pressed("go", "button-0"), ann(), None).await;
    assert!(matches!(nothing, Err(GatewayError::NoSurface { .. })), "{nothing:?}");
    run(&node, session, vec![card("Boats")]).await;
    let before = node.sessions.runs(None, None, None, 10).await.unwrap().len();
    for (name, component) in [("stop", "button-0"), ("go", "button-1"), ("go", "title")] {
        let refused = surfaces.act(session, pressed(name, component), ann(), None).await;
        assert!(
            matches!(refused, Err(GatewayError::Invalid(_))),
            "{name} {component}: {refused:?}"
        );
    }
    // In another session there is no such surface.
    let other = surfaces.act(node.session().await, pressed("go", "button-0"), ann(), None).await;
    assert!(matches!(other, Err(GatewayError::NoSurface { .. })), "{other:?}");
    assert_eq!(node.sessions.runs(None, None, None, 10).await.unwrap().len(), before);
    node.stop().await;
}

const CHANGE: Sql = sql!(
    "UPDATE tape SET payload = replace(payload, $2, $3) WHERE run_id = $1 AND kind = 'a2ui.update'"
);

async fn a_tape_tells_what_is_shown(world: World) {
    let node = Node::start(&world).await;
    let session = node.session().await;
    let run = run(&node, session, vec![card("Boats")]).await;
    let change = async |from: &'static str, to: &'static str| {
        let change = move |tx: &mut Tx<'_>| tx.execute(&CHANGE, params![text(run), from, to]);
        world.db.write(change).await.unwrap();
        node.sessions.replay(run).await.unwrap()
    };
    assert!(change("Boats", "Boats").await.same);
    let changed = change("Boats", "Ships").await;
    let difference = changed.difference.unwrap();
    assert!(matches!(difference.recorded.event, TapeEvent::A2uiUpdate(_)), "{difference:?}");
    assert!(difference.today.contains("Boats"), "{}", difference.today);
    assert!(change("Ships", "Boats").await.same);
    let compared = node.sessions.compare(run, run).await.unwrap();
    assert!(compared.same);
    node.stop().await;
}

//! What people do on what agents show.

use palyra_common::a2ui::Message;
use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;
use palyra_gateway::Surfaces;
use serde_json::{Value, json};

use super::desk::{Desk, envelope};
use crate::engine::node::{Node, Says, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    what_is_pressed_is_told_to_the_agent_once,
    what_has_changed_meanwhile_is_not_pressed,
);

/// The component whose action has this name.
fn component(messages: &[Value], name: &str) -> Value {
    let all = messages.iter().filter_map(|message| message.pointer("/updateComponents/components"));
    let mut all = all.flat_map(|components| components.as_array().unwrap());
    let found = all.find(|component| component.pointer("/action/event/name") == Some(&name.into()));
    found.unwrap_or_else(|| panic!("{messages:#?}"))["id"].clone()
}

async fn what_is_pressed_is_told_to_the_agent_once(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    let card = json!({ "title": "A parcel", "buttons": [{ "label": "Send", "action": "send" }] });
    node.script.then(Says::Calls(vec![("ui.show", card.to_string())]));
    node.script.then(Says::Text("there it is"));
    let session = node.session().await;
    let run = node.say(session, "show it").await;
    node.until(run, Phase::Completed).await;
    let shown = Surfaces::new(node.sessions.clone()).shown(session).await.unwrap();
    let [surface] = &shown[..] else { panic!("{shown:?}") };
    let messages = surface.surface.snapshot(&surface.id);
    let messages: Vec<_> = messages.iter().map(Message::to_value).collect();
    let action = |name: &str| {
        json!({
            "name": name, "surfaceId": surface.id, "sourceComponentId": component(&messages, "send"),
            "timestamp": "2026-01-16T14:30:00Z", "context": {},
        })
    };

    let act = |name: &str| json!({ "session": session, "action": action(name) });
    let refused = desk.give("surface.action", act("burn")).await.error.unwrap();
    assert_eq!(refused.code(), "common/invalid_input", "{refused}");
    let mut elsewhere = act("send");
    elsewhere["action"]["surfaceId"] = json!("nowhere");
    assert_eq!(desk.code("surface.action", elsewhere).await, "common/not_found");
    let error = desk.give("surface.action", json!({ "session": session, "action": {} })).await;
    let details = error.error.unwrap().details().cloned();
    assert_eq!(details, Some(json!({ "path": "params.action" })));

    node.script.then(Says::Text("it is sent"));
    let first = desk.send(envelope("surface.action", act("send"), Some("k"))).await;
    let again = desk.send(envelope("surface.action", act("send"), Some("k"))).await;
    assert_eq!((first.replayed, again.replayed, &first.result), (false, true, &again.result));
    let run = first.result.unwrap()["run"].as_str().unwrap().parse().unwrap();
    node.until(run, Phase::Completed).await;
    let asked = node.script.asked.lock().unwrap().last().cloned().unwrap();
    assert!(seen(&asked).contains("operator:ann\">\n[Action \"send\" of "), "{}", seen(&asked));
    assert_eq!(node.sessions.runs(None, Some(session), None, 9).await.unwrap().len(), 2);
    node.stop().await;
}

async fn what_has_changed_meanwhile_is_not_pressed(world: World) {
    let node = Node::start(&world).await;
    let desk = Desk::new(&node.db).await;
    let session = node.session().await;
    let button = json!({ "label": "Send", "action": "send" });
    for title in ["A parcel", "A letter", "A card"] {
        let card = json!({ "title": title, "surface": "post", "buttons": [button] });
        node.script.then(Says::Calls(vec![("ui.show", card.to_string())]));
        let run = node.say(session, "show it").await;
        node.until(run, Phase::Completed).await;
    }
    // Somebody says something else, which changes nothing of what is shown.
    let other = node.say(session, "thanks").await;
    node.until(other, Phase::Completed).await;
    let shown = Surfaces::new(node.sessions.clone()).shown(session).await.unwrap();
    let version = shown[0].version;
    let act = json!({ "session": session, "action": {
        "name": "send", "surfaceId": "post", "sourceComponentId": "button-0",
        "timestamp": "2026-01-16T14:30:00Z", "context": {},
    } });
    let mut sent = envelope("surface.action", act, Some("k"));
    sent.expected_version = Some(version - 1);
    let refused = desk.send(sent.clone()).await.error.unwrap();
    assert_eq!(refused.code(), "common/conflict", "{refused}");
    assert!(refused.to_string().contains("surface"), "{refused}");
    assert_eq!(node.sessions.runs(None, Some(session), None, 9).await.unwrap().len(), 4);
    sent.expected_version = Some(version);
    let run = desk.send(sent).await.result.unwrap()["run"].as_str().unwrap().parse().unwrap();
    node.until(run, Phase::Completed).await;
    node.stop().await;
}

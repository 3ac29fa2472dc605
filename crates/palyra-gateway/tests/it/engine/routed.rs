//! Runs of what comes in through a channel.

use std::sync::Arc;

use palyra_common::agent::AgentSpec;
use palyra_common::ids::AgentId;
use palyra_common::route::{MAX_TEXT_BYTES, Rule};
use palyra_common::runtime_contracts::{
    DirectMessagePolicy, RouteReason, RunEnd, RunLifecyclePhase as Phase,
};
use palyra_common::tape::TapeEvent;
use palyra_connector_core::conformance::AsItIs;
use palyra_connector_core::{Accepted, Inbound, SystemDice, Taken};
use palyra_gateway::{Agency, ChannelRouter, Hands, MAX_INPUT_BYTES, Run};
use palyra_policy::route::Decision;

use super::node::{Node, Says, seen};
use crate::world::{World, connector, message, on_every_engine};

on_every_engine!(
    a_changed_rule_changes_who_answers,
    of_a_line_of_ten_megabytes_an_agent_gets_a_part_or_nothing,
);

/// What comes in through the channel goes to agents.
fn inbound(world: &World, node: &Node) -> Inbound {
    let router = Arc::new(ChannelRouter::new(Arc::new(Agency::new(Hands::default()))));
    let (clock, dice) = (node.clock.clone(), Arc::new(SystemDice));
    Inbound::new(world.db.clone(), clock, dice, router, Arc::new(AsItIs))
}

fn answered_by(agent: &AgentId) -> Rule {
    let direct_messages = DirectMessagePolicy::Allow;
    Rule { agent: agent.to_string(), direct_messages, ..Rule::default() }
}

/// The run that answers a message of ann's.
async fn answer(node: &Node, inbound: &Inbound, id: &str, text: &str) -> Run {
    let taken = inbound.accept(message(id, text)).await.unwrap();
    assert!(matches!(taken, Accepted::Decided(Taken::Routed { .. })), "{taken:?}");
    node.sessions.runs(None, None, None, 1).await.unwrap().remove(0)
}

async fn a_changed_rule_changes_who_answers(world: World) {
    let node = Node::start(&world).await;
    let inbound = inbound(&world, &node);
    let (ops, default): (AgentId, AgentId) = ("ops".parse().unwrap(), "default".parse().unwrap());
    node.agents.add(ops.clone(), AgentSpec::default(), None).await.unwrap();
    let rule = world.rules.add(&connector(), answered_by(&ops), None).await.unwrap();
    node.script.then(Says::Text("ops is here"));
    let first = answer(&node, &inbound, "m1", "hello").await;
    assert_eq!(node.until(first.id, Phase::Completed).await.agent, ops);
    world.rules.change(rule.id, answered_by(&default), None, None).await.unwrap();
    node.agents.remove(ops, None).await.unwrap();
    let preview = world.preview.of(message("m2", "and now?"), None).await.unwrap();
    let Decision::Route { agent, .. } = preview else { panic!("{preview:?}") };
    assert_eq!(agent, "default");
    let next = answer(&node, &inbound, "m2", "and now?").await;
    let ended = node.until(next.id, Phase::Completed).await;
    assert_eq!((ended.ended, ended.agent), (Some(RunEnd::Answered), default.clone()));
    // It is the same conversation.
    assert_eq!(ended.session, first.session);
    assert_eq!(node.sessions.get(first.session).await.unwrap().agent, default);
    let asked = seen(node.script.asked.lock().unwrap().last().unwrap());
    assert!(asked.contains("ops is here"), "{asked}");
    node.stop().await;
}

async fn of_a_line_of_ten_megabytes_an_agent_gets_a_part_or_nothing(world: World) {
    let node = Node::start(&world).await;
    let inbound = inbound(&world, &node);
    let default = "default".parse().unwrap();
    let rule = Rule { max_text_bytes: MAX_TEXT_BYTES, ..answered_by(&default) };
    world.rules.add(&connector(), rule, None).await.unwrap();
    let taken = inbound.accept(message("m1", &"ä".repeat(5 << 20))).await.unwrap();
    assert_eq!(taken, Accepted::Decided(Taken::Ignored(RouteReason::TooLarge)));
    // What a rule lets through may still be more than an agent takes; no letter is cut in two.
    let text = format!("x{}", "ä".repeat((MAX_TEXT_BYTES - 1) / 2));
    let run = answer(&node, &inbound, "m2", &text).await.id;
    let ended = node.until(run, Phase::Failed).await;
    assert_eq!(ended.ended, Some(RunEnd::TokenLimit), "it is more than the agent reads at once");
    node.spec(|spec| spec.limits.context_tokens = 1_000_000).await;
    let run = answer(&node, &inbound, "m3", &text).await.id;
    node.until(run, Phase::Completed).await;
    let tape = node.tape(run).await;
    let said = tape.into_iter().find_map(|entry| match entry.event {
        TapeEvent::InputMessage(input) => Some(input.text),
        _ => None,
    });
    let said = said.unwrap();
    let (said, note) = said.rsplit_once('\n').unwrap();
    assert_eq!(said.len(), MAX_INPUT_BYTES - 1);
    assert!(text.starts_with(said));
    let whole = text.len();
    assert_eq!(note, format!("[the message was cut here: it has {whole} bytes]"));
    node.stop().await;
}

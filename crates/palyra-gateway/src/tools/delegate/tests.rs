use palyra_common::agent::AgentSpec;
use serde_json::json;

use super::*;
use crate::agents::Agents;
use crate::tools::bench::{World, call};

async fn with_helper() -> World {
    let world = World::new().await;
    let agents = Agents::new(world.db.clone(), world.clock.clone());
    agents.add("helper".parse().unwrap(), AgentSpec::default(), None).await.unwrap();
    world
}

fn task() -> Invocation {
    call(json!({"agent": "helper", "task": "count to ten"}))
}

#[tokio::test]
async fn work_is_given_to_an_agent_that_is_there() {
    let world = with_helper().await;
    let done = world.make("agent.delegate", task()).await.unwrap();
    let (agent, task) = ("helper".parse().unwrap(), "count to ten".to_owned());
    assert_eq!(done.delegated, Some(Delegated { agent, task }));
    assert!(done.sends.is_empty());
    for (agent, expected) in [("nobody", "no agent nobody"), ("a b", "not allowed")] {
        let call = call(json!({"agent": agent, "task": "x"}));
        world.refused("agent.delegate", call, expected).await;
    }
    let nothing = call(json!({"agent": "helper", "task": " \n"}));
    world.refused("agent.delegate", nothing, "not empty").await;
}

#[tokio::test]
async fn it_is_given_on_only_so_often() {
    let world = with_helper().await;
    for depth in 0..MOST_DEPTH {
        assert!(world.make("agent.delegate", Invocation { depth, ..task() }).await.is_ok());
    }
    for depth in [MOST_DEPTH, MOST_DEPTH + 1, u32::MAX] {
        world.refused("agent.delegate", Invocation { depth, ..task() }, "at most 3 times").await;
    }
}

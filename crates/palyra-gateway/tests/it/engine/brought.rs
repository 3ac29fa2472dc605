//! Runs of those who bring the conversation, and tools of their own.

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase as Phase, Trust};
use palyra_common::tape::{Brought, BroughtMessage, BroughtTool, Call};
use palyra_gateway::{Bring, GatewayError, Verdict, call_name};
use palyra_models::Turn;
use palyra_storage::once::{Key, Made, Once};

use super::node::{Node, Says, agent, seen};
use crate::world::{World, on_every_engine};

on_every_engine!(
    what_was_brought_is_what_the_model_reads,
    no_word_that_was_brought_reaches_the_system_role,
    own_calls_are_made_and_the_others_handed_over,
    what_a_run_did_itself_is_there_when_its_caller_comes_back,
    nobody_gets_the_steps_of_a_run_of_somebody_else,
    a_conversation_that_is_kept_takes_only_what_is_new,
    a_handed_over_call_waits_for_its_own_yes,
    under_one_key_there_is_one_run,
    a_conversation_that_is_not_kept_is_put_away,
    what_was_brought_is_bounded_by_the_agent,
    no_secret_in_a_tool_that_was_brought_reaches_a_model,
);

fn said(text: &str, trust: Trust) -> BroughtMessage {
    BroughtMessage::User { text: text.to_owned(), images: Vec::new(), trust }
}

fn program(text: &str, trust: Trust) -> BroughtMessage {
    BroughtMessage::Program { text: text.to_owned(), trust }
}

fn answered(text: &str, calls: &[(&str, &str)]) -> BroughtMessage {
    let call = |(id, tool): &(&str, &str)| Call {
        id: (*id).to_owned(),
        tool: (*tool).to_owned(),
        arguments: "{}".to_owned(),
    };
    let (text, calls) = (text.to_owned(), calls.iter().map(call).collect());
    BroughtMessage::Assistant { text, calls, trust: Trust::Untrusted }
}

fn result(call: &str, content: &str) -> BroughtMessage {
    let (call, content) = (call.to_owned(), content.to_owned());
    BroughtMessage::Tool { call, content, trust: Trust::Untrusted }
}

fn bring(messages: Vec<BroughtMessage>, input: Option<&str>) -> Bring {
    let tool = |name: &str| BroughtTool {
        name: name.to_owned(),
        description: "asks the weather".to_owned(),
        parameters: serde_json::json!({ "type": "object" }),
    };
    let is_answer = |message: &BroughtMessage| matches!(message, BroughtMessage::Assistant { .. });
    let behind = messages.iter().rposition(is_answer).map_or(0, |last| last + 1);
    Bring {
        agent: agent(),
        kept_as: None,
        new: messages[behind..].to_vec(),
        whole: Brought {
            sender: "operator:ann".to_owned(),
            messages,
            tools: vec![tool("weather")],
            max_output_tokens: None,
            temperature: None,
        },
        input: input.map(str::to_owned),
        trust: Trust::Operator,
    }
}

async fn begin(node: &Node, bring: Bring) -> RunId {
    match node.sessions.bring(bring, None).await.unwrap() {
        Made::Now(run) => run,
        Made::Before(run) => panic!("{run} was begun before"),
    }
}

fn last(node: &Node) -> palyra_models::ModelRequest {
    node.script.asked.lock().unwrap().last().cloned().unwrap()
}

async fn what_was_brought_is_what_the_model_reads(world: World) {
    let node = Node::start(&world).await;
    let messages = vec![
        program("speak like a pirate", Trust::Operator),
        said("hello", Trust::Operator),
        answered("ahoy", &[("call_1", "weather")]),
        result("call_1", "sunny"),
    ];
    let run = begin(&node, bring(messages, Some("and now?"))).await;
    node.until(run, Phase::Completed).await;
    let asked = last(&node);
    let expected = "user: Instructions of the program through which this comes:\nspeak like a \
                    pirate | hello\nassistant: ahoyweather {}\nresults: <untrusted origin=\"tool \
                    result\">\nsunny\n</untrusted>\nuser: and now?";
    assert_eq!(seen(&asked), expected);
    assert!(asked.tools.iter().any(|tool| tool.name == "weather"), "{:?}", asked.tools);
    assert!(asked.tools.iter().any(|tool| tool.name == "test.read"), "its own are there, too");
    node.stop().await;
}

async fn no_word_that_was_brought_reaches_the_system_role(world: World) {
    let node = Node::start(&world).await;
    for trust in [Trust::Operator, Trust::Untrusted] {
        let messages = vec![
            program("CANARY as program", trust),
            said("CANARY as user", trust),
            answered("CANARY as assistant", &[]),
        ];
        let run = begin(&node, Bring { trust, ..bring(messages, Some("CANARY asks")) }).await;
        node.until(run, Phase::Completed).await;
        let asked = last(&node);
        assert!(!asked.system.clone().unwrap().contains("CANARY"), "{:?}", asked.system);
        let seen = seen(&asked);
        assert_eq!(seen.matches("CANARY").count(), 4, "{seen}");
        let marks = seen.matches("</untrusted>").count();
        assert_eq!(marks, if trust == Trust::Operator { 0 } else { 3 }, "{seen}");
    }
    node.stop().await;
}

async fn own_calls_are_made_and_the_others_handed_over(world: World) {
    let node = Node::start(&world).await;
    let calls = vec![("weather", "{\"at\": 1}".to_owned()), ("test.read", "{}".to_owned())];
    node.script.then(Says::While("let me see", calls));
    let run = begin(&node, bring(Vec::new(), Some("how is it outside?"))).await;
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!((ended.ended, node.times()), (Some(RunEnd::HandedOver), 1));
    let answer = node.answer(run).await;
    assert_eq!(answer, "let me see\n\n[It is for whoever asked to go on: weather]");
    assert_eq!(node.script.times_asked(), 1, "nobody is asked while somebody else is to go on");
    node.stop().await;
}

async fn what_a_run_did_itself_is_there_when_its_caller_comes_back(world: World) {
    let node = Node::start(&world).await;
    node.script.then(Says::Calls(vec![("test.read", "{}".to_owned())]));
    let calls = vec![("weather", "{}".to_owned()), ("test.low", "{}".to_owned())];
    node.script.then(Says::Calls(calls));
    let question = || said("how is it?", Trust::Operator);
    let run = begin(&node, bring(Vec::new(), Some("how is it?"))).await;
    node.until(run, Phase::Completed).await;
    let call = call_name(run, "t2c0");
    let back = || vec![question(), answered("", &[(&call, "weather")]), result(&call, "sunny")];
    let next = begin(&node, bring(back(), None)).await;
    node.until(next, Phase::Completed).await;
    let seen = seen(&last(&node));
    let steps: Vec<_> = ["counted 1", "counted 2", "sunny"].iter().map(|s| seen.find(s)).collect();
    assert!(steps.iter().all(Option::is_some) && steps.is_sorted(), "{seen}");
    assert_eq!(seen.matches("sunny").count(), 1, "{seen}");
    // Some say each call in a message of its own.
    let mut twice = back();
    twice.extend([answered("", &[(&call, "weather")]), result(&call, "sunny")]);
    let again = begin(&node, bring(twice, Some("and now?"))).await;
    node.until(again, Phase::Completed).await;
    every_call_has_its_result(&last(&node));
    node.stop().await;
}

fn every_call_has_its_result(asked: &palyra_models::ModelRequest) {
    for (index, turn) in asked.turns.iter().enumerate() {
        let Turn::Assistant { calls, .. } = turn else { continue };
        let results = match asked.turns.get(index + 1) {
            Some(Turn::ToolResults { results }) => results.as_slice(),
            _ => &[],
        };
        for call in calls {
            let of = results.iter().filter(|result| result.call_id == call.id);
            assert_eq!(of.count(), 1, "{call:?}: {:#?}", asked.turns);
        }
    }
}

async fn nobody_gets_the_steps_of_a_run_of_somebody_else(world: World) {
    let node = Node::start(&world).await;
    let calls = vec![("weather", "{}".to_owned()), ("test.read", "{}".to_owned())];
    node.script.then(Says::Calls(calls));
    let run = begin(&node, bring(Vec::new(), Some("how is it?"))).await;
    node.until(run, Phase::Completed).await;
    let call = call_name(run, "t1c0");
    let messages = vec![
        said("tell me", Trust::Operator),
        answered("", &[(&call, "weather")]),
        result(&call, "sunny"),
    ];
    let mut other = bring(messages, None);
    other.whole.sender = "operator:bob".to_owned();
    let next = begin(&node, other).await;
    node.until(next, Phase::Completed).await;
    let seen = seen(&last(&node));
    assert!(seen.contains("sunny") && !seen.contains("counted 1"), "{seen}");
    node.stop().await;
}

async fn a_conversation_that_is_kept_takes_only_what_is_new(world: World) {
    let node = Node::start(&world).await;
    let kept = |messages, input| {
        let kept_as = Some("openai:test:a".to_owned());
        Bring { kept_as, ..bring(messages, input) }
    };
    // What was said before there was one is not lost.
    node.script.then(Says::Calls(vec![("weather", "{}".to_owned())]));
    let before = vec![said("one", Trust::Operator), answered("ONE", &[])];
    let run = begin(&node, kept(before.clone(), Some("two"))).await;
    node.until(run, Phase::Completed).await;
    assert!(seen(&last(&node)).contains("assistant: ONE"));

    let call = call_name(run, "t1c0");
    let mut back = before;
    back.extend([said("two", Trust::Operator), answered("", &[(&call, "weather")])]);
    back.push(result(&call, "sunny"));
    let next = begin(&node, kept(back.clone(), None)).await;
    node.until(next, Phase::Completed).await;
    let asked = last(&node);
    let text = seen(&asked);
    for once in ["ONE", "two", "sunny"] {
        assert_eq!(text.matches(once).count(), 1, "{once}: {text}");
    }
    every_call_has_its_result(&asked);
    assert!(!text.contains("ended before"), "{text}");
    let (first, second) = (node.sessions.run(run).await, node.sessions.run(next).await);
    assert_eq!(first.unwrap().session, second.unwrap().session);

    // A result of a call that is not there is shown as it is.
    let lost = begin(&node, kept(vec![result("call_9", "rainy")], None)).await;
    node.until(lost, Phase::Completed).await;
    let text = seen(&last(&node));
    assert!(text.contains("rainy"), "{text}");
    every_call_has_its_result(&last(&node));
    node.stop().await;
}

async fn a_handed_over_call_waits_for_its_own_yes(world: World) {
    let node = Node::start(&world).await;
    let calls = vec![("weather", "{}".to_owned()), ("test.risky", "{}".to_owned())];
    node.script.then(Says::Calls(calls));
    let run = begin(&node, bring(Vec::new(), Some("do both"))).await;
    node.until(run, Phase::WaitingForApproval).await;
    node.decide(node.question().await, Verdict::Approve).await.unwrap();
    let ended = node.until(run, Phase::Completed).await;
    assert_eq!((ended.ended, node.times()), (Some(RunEnd::HandedOver), 1));
    node.stop().await;
}

async fn under_one_key_there_is_one_run(world: World) {
    let node = Node::start(&world).await;
    let once = |body: &[u8]| {
        let by = "operator:ann".parse().unwrap();
        Some((by, Once::new("chat.complete", Key::parse("k").unwrap(), body)))
    };
    let ask =
        async |body: &[u8]| node.sessions.bring(bring(Vec::new(), Some("hello")), once(body)).await;
    let Made::Now(run) = ask(b"a").await.unwrap() else { panic!("it is the first") };
    let Made::Before(again) = ask(b"a").await.unwrap() else { panic!("it is not") };
    assert_eq!(run, again);
    assert!(matches!(ask(b"b").await, Err(GatewayError::KeyTaken)));
    node.until(run, Phase::Completed).await;
    assert_eq!(node.sessions.runs(None, None, None, 10).await.unwrap().len(), 1);
    node.stop().await;
}

async fn a_conversation_that_is_not_kept_is_put_away(world: World) {
    let node = Node::start(&world).await;
    let run = begin(&node, bring(Vec::new(), Some("hello"))).await;
    let run = node.until(run, Phase::Completed).await;
    assert!(node.sessions.list(None, 10).await.unwrap().is_empty());
    let session = node.sessions.get(run.session).await.unwrap();
    assert!(session.archived_at.is_some() && session.surface == "openai", "{session:?}");
    let kept = Bring { kept_as: Some("openai:a:b".to_owned()), ..bring(Vec::new(), Some("hi")) };
    let kept = begin(&node, kept).await;
    node.until(kept, Phase::Completed).await;
    assert_eq!(node.sessions.list(None, 10).await.unwrap().len(), 1);
    node.stop().await;
}

async fn what_was_brought_is_bounded_by_the_agent(world: World) {
    let node = Node::start(&world).await;
    for (wanted, most) in [(None, 4_096), (Some(100), 100), (Some(1 << 20), 4_096)] {
        let mut bring = bring(Vec::new(), Some("hello"));
        bring.whole.max_output_tokens = wanted;
        bring.whole.temperature = Some(0.5);
        let run = begin(&node, bring).await;
        node.until(run, Phase::Completed).await;
        let asked = last(&node);
        assert_eq!((asked.max_output_tokens, asked.temperature), (most, Some(0.5)), "{wanted:?}");
    }
    // What does not fit is not cut in silence.
    let long = "a word and another ".repeat(20_000);
    let run = begin(&node, bring(vec![said(&long, Trust::Operator)], Some("hello"))).await;
    let ended = node.until(run, Phase::Failed).await;
    assert_eq!(ended.ended, Some(RunEnd::TokenLimit));
    node.stop().await;
}

async fn no_secret_in_a_tool_that_was_brought_reaches_a_model(world: World) {
    let node = Node::start(&world).await;
    let mut bring = bring(Vec::new(), Some("hello"));
    bring.whole.tools[0].parameters =
        serde_json::json!({ "type": "object", "properties": { "at": { "default": "s3cr3t" } } });
    let run = begin(&node, bring).await;
    node.until(run, Phase::Completed).await;
    let asked = last(&node);
    let tool = asked.tools.iter().find(|tool| tool.name == "weather").unwrap();
    assert_eq!(tool.input_schema["properties"]["at"]["default"], "[redacted]");
    node.stop().await;
}

//! Servers that do as OpenAI does, more or less.

use palyra_models::{FinishReason, Problem, ProviderKind, count_request, count_tokens};
use palyra_testkit::model_sim::{Quirk, Reply};
use serde_json::json;

use crate::world::{KINDS, World, hello, with_tools};

fn two_calls() -> Reply {
    let reply = Reply::text("Look: ").call("fs_read", &json!({"path": "a"}));
    reply.call("time_now", &json!({"zone": "utc"}))
}

#[tokio::test]
async fn calls_are_told_apart_whatever_they_are_marked_with() {
    let all = [
        &[Quirk::NoIndex][..],
        &[Quirk::SameIndex],
        &[Quirk::NoIds],
        &[Quirk::NoIndex, Quirk::NoIds],
        &[Quirk::ObjectArguments],
        &[Quirk::ObjectArguments, Quirk::NoIndex, Quirk::NoIds],
        &[Quirk::Chatter],
        &[Quirk::NoUsage, Quirk::NoDone],
    ];
    let world = World::new(ProviderKind::Openai);
    for quirks in all {
        world.a.reply(quirks.iter().fold(two_calls(), |reply, quirk| reply.quirk(*quirk)));
        let done = world.ask(&with_tools(hello())).await.unwrap();
        let calls: Vec<_> =
            done.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        let expected = [("fs_read", r#"{"path":"a"}"#), ("time.now", r#"{"zone":"utc"}"#)];
        assert_eq!(calls, expected, "{quirks:?}");
        assert!(!done.calls[0].id.is_empty() && done.calls[0].id != done.calls[1].id, "{quirks:?}");
        assert_eq!(done.finish, FinishReason::ToolCalls, "{quirks:?}");
        assert_eq!(done.text, "Look: ", "{quirks:?}");
    }
}

#[tokio::test]
async fn usage_is_taken_where_it_is_told_and_counted_where_it_is_not() {
    for kind in KINDS {
        let world = World::new(kind);
        let reply = || Reply::text("one two three").usage(50, 9, 20);
        world.a.reply(reply().quirk(Quirk::UsageWithLast));
        let usage = world.ask(&hello()).await.unwrap().usage;
        assert_eq!(
            (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens),
            (50, 9, 20)
        );
        world.a.reply(reply().quirk(Quirk::NoUsage));
        let usage = world.ask(&hello()).await.unwrap().usage;
        assert_eq!(usage.input_tokens, count_request(&hello()));
        assert_eq!(usage.output_tokens, count_tokens("one two three"));
    }
}

#[tokio::test]
async fn an_end_that_says_why_or_that_it_is_one_is_an_end() {
    for kind in KINDS {
        let world = World::new(kind);
        world.a.reply(Reply::text("all of it").quirk(Quirk::NoDone));
        assert_eq!(world.ask(&hello()).await.unwrap().text, "all of it");
        world.a.reply(Reply::text("all of it").quirk(Quirk::NoFinish));
        assert_eq!(world.ask(&hello()).await.unwrap().finish, FinishReason::Stop);
        world.a.reply(Reply::text("all of it").quirk(Quirk::NoDone).quirk(Quirk::NoFinish));
        assert_eq!(world.problem(&hello()).await, Problem::CutOff);
    }
}

#[tokio::test]
async fn chatter_is_not_heard() {
    for kind in KINDS {
        let world = World::new(kind);
        world.a.reply(Reply::text("one two").quirk(Quirk::Chatter));
        assert_eq!(world.ask(&hello()).await.unwrap().text, "one two");
    }
}

//! Which model of a list answers, and who is left alone.

use palyra_common::ErrorCode;
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::Duration;
use palyra_models::{
    MicroUsd, ModelError, Next, Owed, Problem, ProviderKind, ProviderState, Unheard,
};
use palyra_testkit::model_sim::{Fault, Reply};

use crate::world::{Heard, KINDS, World, hello};

#[tokio::test]
async fn the_first_that_can_be_had_answers() {
    for kind in KINDS {
        let world = World::new(kind);
        let mut heard = Heard::default();
        world.a.reply(Reply::rate_limited("20"));
        world.b.reply(Reply::text("b says hello"));
        let answer = world.ask_list(&["a", "b"], &hello(), &mut heard).await.unwrap();
        assert_eq!((answer.by.as_str(), answer.completion.model.as_str()), ("b", "b-large"));
        assert_eq!(answer.passed_over.len(), 1);
        let passed = &answer.passed_over[0];
        assert_eq!(passed.model.as_str(), "a");
        assert_eq!(passed.error.code(), ErrorCode::ModelsRateLimited);
        assert_eq!(heard.pieces.concat(), "b says hello");
    }
}

/// There is nothing set aside for a second one.
#[tokio::test]
async fn after_one_that_may_have_to_be_paid_nobody_else_is_asked() {
    for kind in KINDS {
        let world = World::new(kind);
        let worst = |name: &str| world.models.worst_cost(&[name.parse().unwrap()], &hello());
        let list = ["a".parse().unwrap(), "b".parse().unwrap()];
        let ask = async || world.models.complete(&list, &hello(), &mut Unheard).await;
        // With something that was said, and with something that nobody reads.
        let call = Reply::text("").call("time.now", &serde_json::json!({}));
        for reply in
            [Reply::text("one two three").with(Fault::CutAfter(2)), call.with(Fault::CutAfter(1))]
        {
            world.a.reply(reply);
            let failed = ask().await.unwrap_err();
            assert_eq!(failed.error.retry_class(), RetryClass::TransientNetwork);
            assert_eq!((failed.owed.cost, failed.next), (worst("a"), Next::SomebodyElse));
            assert!(failed.owed.cost > MicroUsd(0) && failed.owed.tokens > 0, "{failed:?}");
        }
        assert_eq!((world.a.asked().len(), world.b.asked().len()), (2, 0));
        // The last of them is not followed by anybody; and what costs nothing is.
        world.a.reply(Reply::rate_limited("60"));
        world.b.reply(Reply::text("one two three").with(Fault::CutAfter(2)));
        let failed = ask().await.unwrap_err();
        assert_eq!((failed.owed.cost, failed.next), (worst("b"), Next::NobodyElse));
        world.b.reply(Reply::rate_limited("60"));
        let failed = ask().await.unwrap_err();
        assert_eq!((failed.owed, failed.next), (Owed::default(), Next::NobodyElse));
    }
}

/// That the one refuses for good is no reason not to wait for the other.
#[tokio::test]
async fn one_that_may_be_back_is_waited_for_whatever_the_others_say() {
    let world = World::new(ProviderKind::Openai);
    world.a.reply(Reply::rate_limited("20"));
    world.b.reply(Reply::status(401, "invalid_api_key", ""));
    let error = world.ask_list(&["a", "b"], &hello(), &mut Heard::default()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ModelsAllUnavailable);
    assert_eq!(error.retry_class(), RetryClass::RateLimit);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(20)));
}

#[tokio::test]
async fn with_nobody_left_what_was_heard_stays_and_the_error_tells() {
    let world = World::new(ProviderKind::Openai);
    let mut heard = Heard::default();
    world.a.reply(Reply::text("one two").with(Fault::CutAfter(1)));
    let error = world.ask_list(&["a"], &hello(), &mut heard).await.unwrap_err();
    assert_eq!(error.problem(), Some(&Problem::CutOff));
    assert_eq!(heard.pieces.concat(), "one ");
}

#[tokio::test]
async fn a_refusal_is_final_unless_it_is_configured_otherwise() {
    for (failover, by) in [(false, None), (true, Some("b"))] {
        let world =
            World::with(ProviderKind::Openai, |config| config.failover_on_refusal = failover);
        for reply in [
            Reply::status(401, "invalid_api_key", ""),
            Reply::status(400, "invalid_request_error", "no"),
            Reply::status(404, "model_not_found", "no"),
        ] {
            world.a.reply(reply);
            let answer = world.ask_list(&["a", "b"], &hello(), &mut Heard::default()).await;
            assert_eq!(answer.as_ref().ok().map(|answer| answer.by.as_str()), by);
            if let Err(error) = answer {
                assert_eq!(error.retry_class(), RetryClass::Permanent);
            }
        }
        assert_eq!(world.a.asked().len(), 3);
        assert_eq!(world.b.asked().len(), if failover { 3 } else { 0 });
    }
}

#[tokio::test]
async fn when_all_are_out_the_first_to_be_back_says_when() {
    let world = World::new(ProviderKind::Openai);
    world.a.reply(Reply::rate_limited("60"));
    world.b.reply(Reply::rate_limited("20"));
    let error = world.ask_list(&["a", "b"], &hello(), &mut Heard::default()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ModelsAllUnavailable);
    assert_eq!(error.retry_class(), RetryClass::RateLimit);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(20)));
    assert!(matches!(&error, ModelError::AllOut { failures } if failures.len() == 2), "{error}");

    // Nobody is asked before that, and the time that is left is told.
    world.clock.advance(Duration::from_secs(5));
    let error = world.ask_list(&["a", "b"], &hello(), &mut Heard::default()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(15)));
    assert_eq!((world.a.asked().len(), world.b.asked().len()), (1, 1));
    world.clock.advance(Duration::from_secs(15));
    let answer = world.ask_list(&["a", "b"], &hello(), &mut Heard::default()).await.unwrap();
    assert_eq!((answer.by.as_str(), world.a.asked().len()), ("b", 1));
}

/// Somebody who may be back at any time is a reason to try at any time.
#[tokio::test]
async fn a_failure_without_a_time_sets_none() {
    let world = World::new(ProviderKind::Openai);
    world.a.reply(Reply::rate_limited("60"));
    world.b.reply(Reply::status(500, "api_error", ""));
    let error = world.ask_list(&["a", "b"], &hello(), &mut Heard::default()).await.unwrap_err();
    assert_eq!((error.retry_after(), error.retry_class()), (None, RetryClass::TransientNetwork));
}

/// Whoever has mended something wants to know whether it works now.
#[tokio::test]
async fn somebody_who_tests_a_model_is_told_what_it_says_now() {
    let world = World::new(ProviderKind::Openai);
    let name = "a".parse().unwrap();
    let test = async || world.models.test(&name, &hello(), &mut Unheard).await;
    world.a.reply(Reply::rate_limited("60"));
    world.ask(&hello()).await.unwrap_err();
    assert_eq!(world.ask(&hello()).await.unwrap_err().code(), ErrorCode::ModelsPaused);
    world.a.reply(Reply::status(500, "api_error", ""));
    let failed = test().await.unwrap_err();
    assert_eq!(failed.error.code(), ErrorCode::ModelsOverloaded, "{failed:?}");
    assert_eq!(world.ask(&hello()).await.unwrap_err().code(), ErrorCode::ModelsPaused);
    let why = world.models.providers()[0].why.clone().unwrap();
    assert!(why.contains("a failure of its own"), "{why}");
    assert_eq!(world.a.asked().len(), 2);
    world.a.reply(Reply::text("one two").with(Fault::CutAfter(1)));
    let owed = test().await.unwrap_err().owed;
    assert_eq!(owed.cost, world.models.worst_cost(std::slice::from_ref(&name), &hello()));
    world.a.reply(Reply::text("I am back"));
    assert_eq!(test().await.unwrap().text, "I am back");
    world.a.reply(Reply::text("for all"));
    assert_eq!(world.ask(&hello()).await.unwrap().text, "for all");
    assert_eq!(world.models.providers()[0].why, None);
}

#[tokio::test]
async fn who_keeps_failing_is_left_alone_and_tried_again() {
    let world = World::new(ProviderKind::Openai);
    for _ in 0..3 {
        world.a.reply(Reply::status(500, "api_error", ""));
        world.ask(&hello()).await.unwrap_err();
    }
    let error = world.ask(&hello()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ModelsPaused);
    let told = error.to_string();
    assert!(told.contains("it is left alone for 10s: it has a failure of its own"), "{told}");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(10)));
    assert_eq!(world.a.asked().len(), 3, "it was not asked");
    let paused = &world.models.providers()[0];
    assert_eq!((paused.name.as_str(), paused.state), ("a", ProviderState::Paused));

    world.clock.advance(Duration::from_secs(10));
    world.a.reply(Reply::status(500, "api_error", ""));
    world.ask(&hello()).await.unwrap_err();
    assert_eq!(world.ask(&hello()).await.unwrap_err().retry_after(), Some(Duration::from_secs(20)));

    world.clock.advance(Duration::from_secs(20));
    assert!(world.ask(&hello()).await.is_ok());
    assert_eq!(world.models.providers()[0].state, ProviderState::Open);
    assert_eq!(world.a.asked().len(), 5);
}

#[tokio::test]
async fn a_refusal_is_no_failure_of_the_provider() {
    let world = World::new(ProviderKind::Openai);
    for _ in 0..5 {
        world.a.reply(Reply::status(400, "invalid_request_error", ""));
        assert_eq!(world.ask(&hello()).await.unwrap_err().code(), ErrorCode::ModelsRefused);
    }
    assert_eq!(world.a.asked().len(), 5);
}

#[tokio::test]
async fn a_name_that_there_is_not_is_told() {
    let world = World::new(ProviderKind::Openai);
    let mut heard = Heard::default();
    let error = world.ask_list(&["offlin", "a"], &hello(), &mut heard).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no model offlin; did you mean offline?");
    assert_eq!(error.code(), ErrorCode::ModelsNotConfigured);
    let error = world.ask_list(&[], &hello(), &mut heard).await.unwrap_err();
    assert_eq!(error, ModelError::NoneNamed);
    assert_eq!(world.a.asked().len(), 0);
}

#[tokio::test]
async fn offline_is_always_there() {
    let world = World::new(ProviderKind::Openai);
    world.a.reply(Reply::status(500, "api_error", ""));
    let mut heard = Heard::default();
    let answer = world.ask_list(&["a", "offline"], &hello(), &mut heard).await.unwrap();
    assert_eq!(answer.by.as_str(), "offline");
    assert!(answer.completion.text.contains("offline model"), "{answer:?}");
    assert_eq!(heard.pieces.concat(), answer.completion.text);
    let names: Vec<_> = world.models.list().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "offline"]);
    assert_eq!(world.models.default_list(), ["offline".parse().unwrap()]);
    assert_eq!(world.models.worst_cost(&["offline".parse().unwrap()], &hello()), MicroUsd(0));
}

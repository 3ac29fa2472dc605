//! Everything that goes wrong with one call.

use palyra_common::ErrorCode;
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::Duration;
use palyra_models::{Delta, DeltaSink, Problem, ProviderKind, Said};
use palyra_testkit::model_sim::{Fault, Gate, Reply, Wrong};

use crate::world::{KINDS, World, hello, until, with_tools};

fn said(code: &str, message: &str) -> Said {
    Said { code: code.into(), message: message.into() }
}

#[tokio::test]
async fn a_limit_is_told_with_the_time_to_wait() {
    for kind in KINDS {
        let world = World::new(kind);
        world.a.reply(Reply::rate_limited("20"));
        let error = world.ask(&hello()).await.unwrap_err();
        assert_eq!(error.retry_class(), RetryClass::RateLimit);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(20)));
        assert_eq!(error.code(), ErrorCode::ModelsRateLimited);
        let told = "the model a-large of a: it asks to wait for 20s, it says: rate_limit_error: too \
                    many requests";
        assert_eq!(error.to_string(), told);
    }
}

#[tokio::test]
async fn a_status_says_whether_to_try_again() {
    for kind in KINDS {
        let world = World::with(kind, |config| config.breaker_failures = 100);
        for (status, code, class, expected) in [
            (500, "api_error", RetryClass::TransientNetwork, ErrorCode::ModelsOverloaded),
            (529, "overloaded_error", RetryClass::TransientNetwork, ErrorCode::ModelsOverloaded),
            (401, "authentication_error", RetryClass::Permanent, ErrorCode::ModelsUnauthorized),
            (400, "invalid_request_error", RetryClass::Permanent, ErrorCode::ModelsRefused),
            (
                400,
                "context_length_exceeded",
                RetryClass::Permanent,
                ErrorCode::ModelsContextTooLong,
            ),
            (404, "model_not_found", RetryClass::Permanent, ErrorCode::ModelsUnknownModel),
            (307, "moved", RetryClass::Permanent, ErrorCode::ModelsRefused),
        ] {
            world.a.reply(Reply::status(status, code, "why"));
            let error = world.ask(&hello()).await.unwrap_err();
            assert_eq!((error.retry_class(), error.code()), (class, expected), "{status} {code}");
            assert!(error.to_string().contains(code), "{error}");
        }
        let asked = world.a.asked().len();
        assert_eq!(asked, 7, "one request for each, and no redirect was followed");
    }
}

#[tokio::test]
async fn an_error_in_the_middle_is_one() {
    for kind in KINDS {
        let world = World::new(kind);
        let (code, message) = ("overloaded_error".to_owned(), "later".to_owned());
        world.a.reply(Reply::text("one two").with(Fault::InStream { code, message }));
        let said = said("overloaded_error", "later");
        assert_eq!(world.problem(&hello()).await, Problem::Overloaded { retry_after: None, said });
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    for kind in KINDS {
        let world = World::with(kind, |config| config.breaker_failures = 100);
        for pieces in 0..3 {
            world.a.reply(Reply::text("one two three").with(Fault::CutAfter(pieces)));
            let error = world.ask(&hello()).await.unwrap_err();
            assert_eq!(error.problem(), Some(&Problem::CutOff), "{pieces}");
            assert!(error.may_have_cost());
        }
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_told() {
    for kind in KINDS {
        let world = World::new(kind);
        for fault in [Fault::Malformed, Fault::NotAStream] {
            world.a.reply(Reply::text("one two").with(fault.clone()));
            let problem = world.problem(&hello()).await;
            assert!(matches!(problem, Problem::Malformed { .. }), "{fault:?}: {problem:?}");
            assert_eq!(problem.retry_class(), RetryClass::TransientNetwork);
        }
    }
}

/// The simulator sees that nobody listens any more, so nothing goes on in the background.
#[tokio::test]
async fn output_without_end_is_broken_off() {
    for kind in KINDS {
        let world = World::new(kind);
        for (number, (fault, what)) in [
            (Fault::Endless, "bytes of text"),
            (Fault::EndlessCall, "bytes of tool calls"),
            (Fault::EndlessEvent, "bytes in one event"),
        ]
        .into_iter()
        .enumerate()
        {
            world.a.reply(Reply::text("one two").with(fault));
            let error = world.ask(&hello()).await.unwrap_err();
            let is_it = |problem: &Problem| matches!(problem, Problem::TooLarge { what: of, .. } if *of == what);
            assert!(error.problem().is_some_and(is_it), "{what}: {error}");
            assert_eq!(error.retry_class(), RetryClass::Permanent);
            until(|| world.a.left() == number + 1).await;
        }
    }
}

#[tokio::test]
async fn too_many_calls_are_broken_off() {
    for kind in KINDS {
        let world = World::new(kind);
        let reply = |calls| (0..calls).fold(Reply::default(), |reply, _| reply.raw_call("x", "{}"));
        world.a.reply(reply(64));
        assert_eq!(world.ask(&hello()).await.unwrap().calls.len(), 64);
        world.a.reply(reply(65));
        let limit = Problem::TooLarge { what: "tool calls", limit: 64 };
        assert_eq!(world.problem(&hello()).await, limit);
    }
}

/// It is the engine that judges them, and the model that is told.
#[tokio::test]
async fn wrong_arguments_are_handed_on_as_they_are() {
    for kind in KINDS {
        let world = World::new(kind);
        for (wrong, name, arguments) in [
            (Wrong::NotJson, "fs.read", "{\"path\": oops"),
            (Wrong::Types, "fs.read", "{\"path\":[1,{\"a\":null}]}"),
            (Wrong::Unknown, "no_such_tool", "{}"),
        ] {
            world.a.reply(Reply::text("").with(Fault::Wrong(wrong)));
            let done = world.ask(&with_tools(hello())).await.unwrap();
            let call = &done.calls[0];
            assert_eq!((call.name.as_str(), call.arguments.as_str()), (name, arguments));
        }
    }
}

#[tokio::test]
async fn what_is_not_there_was_not_asked() {
    for kind in KINDS {
        let port = palyra_testkit::process::free_port().unwrap();
        let world = World::with(kind, |config| {
            config.providers.get_mut("a").unwrap().base_url = format!("http://127.0.0.1:{port}");
        });
        let error = world.ask(&hello()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ModelsUnreachable);
        assert!(
            !error.may_have_cost() && error.to_string().contains("nothing was sent"),
            "{error}"
        );
    }
}

/// Once something was heard, time stands still but for what waits: the next thing to happen is that
/// it has waited for too long.
struct StopsTime;

impl DeltaSink for StopsTime {
    fn delta(&mut self, _: Delta<'_>) {
        tokio::time::pause();
    }
}

#[tokio::test]
async fn silence_in_the_middle_is_not_waited_for() {
    for kind in KINDS {
        let world = World::new(kind);
        let gate = Gate::shut();
        world.a.reply(Reply::text("one two").with(Fault::Gated(gate.clone())));
        // As far as the first piece of text.
        gate.let_through(if kind == ProviderKind::Openai { 2 } else { 4 });
        let list = ["a".parse().unwrap()];
        let failed = world.models.complete(&list, &hello(), &mut StopsTime).await.unwrap_err();
        let error = failed.error;
        assert_eq!(error.problem(), Some(&Problem::TimedOut));
        assert_eq!(error.retry_class(), RetryClass::TransientNetwork);
        tokio::time::resume();
    }
}

//! Whoever does not want an answer any more ends the call.

use palyra_models::{Delta, DeltaSink};
use palyra_testkit::model_sim::{Fault, Gate, Reply};
use tokio::sync::oneshot;

use crate::world::{Heard, KINDS, World, hello, until};

/// Says when it hears something.
struct Says(Option<oneshot::Sender<()>>);

impl DeltaSink for Says {
    fn delta(&mut self, _: Delta<'_>) {
        if let Some(sender) = self.0.take() {
            sender.send(()).unwrap();
        }
    }
}

#[tokio::test]
async fn a_dropped_call_ends_its_connection() {
    for kind in KINDS {
        let world = World::new(kind);
        let gate = Gate::shut();
        world.a.reply(Reply::text("one two").with(Fault::Gated(gate.clone())));
        gate.let_through(4);
        let (say, said) = oneshot::channel();
        let mut sink = Says(Some(say));
        let (list, request) = (["a".parse().unwrap()], hello());
        tokio::select! {
            answered = world.models.complete(&list, &request, &mut sink) => panic!("{answered:?}"),
            heard = said => heard.unwrap(),
        }
        // It is not let through any further, so nothing but the end of the connection ends it.
        until(|| world.a.left() == 1).await;
        assert_eq!(world.a.asked().len(), 1);
        assert!(world.ask(&hello()).await.is_ok(), "the next one is asked as ever");
    }
}

/// A call that is given up while it tries for all leaves its place to the next.
#[tokio::test]
async fn a_dropped_try_is_not_waited_for() {
    let world = World::new(KINDS[0]);
    for _ in 0..3 {
        world.a.reply(Reply::status(500, "api_error", ""));
        world.ask(&hello()).await.unwrap_err();
    }
    world.clock.advance(palyra_common::time::Duration::from_secs(10));
    world.a.reply(Reply::text("one").with(Fault::Gated(Gate::shut())));
    let (list, request, mut heard) = (["a".parse().unwrap()], hello(), Heard::default());
    let asking = world.models.complete(&list, &request, &mut heard);
    tokio::select! {
        answered = asking => panic!("{answered:?}"),
        () = until(|| world.a.asked().len() == 4) => {}
    }
    assert_eq!(world.ask(&hello()).await.unwrap().text, "You said: hello there");
}

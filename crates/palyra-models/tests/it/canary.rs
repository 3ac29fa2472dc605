//! The key is in a header, and nowhere else.

use std::io::Write;
use std::sync::{Arc, Mutex};

use palyra_common::ErrorCode;
use palyra_models::ApiKey;
use palyra_testkit::model_sim::{Fault, Reply};
use tracing_subscriber::filter::LevelFilter;

use crate::world::{Heard, KEY, KINDS, World, hello};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_is_seen_nowhere_else() {
    let log = Log::default();
    let writer = log.clone();
    let logger = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let logger = logger.with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(logger);
    let prompt = "my password is swordfish, tell nobody";
    let mut seen = format!("{:?}", ApiKey::from(KEY.to_owned()));
    for kind in KINDS {
        let world = World::with(kind, |config| config.breaker_failures = 1_000);
        let mut request = hello();
        request.turns = vec![palyra_models::Turn::user(prompt)];
        // Providers repeat whatever they like.
        let message = format!("for {KEY} {prompt}");
        let mut replies: Vec<Reply> = [400, 401, 403, 404, 413, 429, 500]
            .map(|status| Reply::status(status, KEY, &message))
            .to_vec();
        let code = "invalid_request_error".to_owned();
        replies.push(Reply::text("a b").with(Fault::InStream { code, message }));
        replies.push(Reply::text("a b").with(Fault::Malformed));
        replies.push(Reply::text("a b").with(Fault::CutAfter(1)));
        for reply in replies {
            world.a.reply(reply);
            let mut heard = Heard::default();
            let error = world.ask_list(&["a"], &request, &mut heard).await.unwrap_err();
            seen.push_str(&format!("{error} {error:?} {:?}", error.envelope()));
        }
        world.a.require_key("another");
        let error = world.ask(&request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ModelsUnauthorized);
        seen.push_str(&format!("{error} {error:?}"));
        assert!(world.a.asked().iter().all(|asked| asked.key.as_deref() == Some(KEY)));
        assert!(world.a.asked().iter().all(|asked| !asked.body.to_string().contains(KEY)));
        seen.push_str(&format!("{:?}", world.models.providers()));
    }
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("a model cannot be used"), "something is logged: {logged}");
    for text in [&seen, &logged] {
        for secret in [KEY, &KEY[..16], "swordfish", "cGFzc3dvcmQ"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_had_is_told_by_its_name() {
    for kind in KINDS {
        for (name, what) in
            [("global/lost", "there is no such secret"), ("global/two-lines", "a line break")]
        {
            let world = World::with(kind, |config| {
                config.providers.get_mut("a").unwrap().api_key = name.into();
            });
            let error = world.ask(&hello()).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::ModelsNoKey);
            let told = error.to_string();
            assert!(told.contains(name) && told.contains(what) && !told.contains(KEY), "{told}");
            assert_eq!(world.a.asked().len(), 0);
        }
        let world = World::with(kind, |config| {
            config.providers.get_mut("a").unwrap().api_key = String::new();
        });
        world.ask(&hello()).await.unwrap();
        assert_eq!(world.a.asked()[0].key, None);
    }
}

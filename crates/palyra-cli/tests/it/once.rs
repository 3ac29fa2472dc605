//! What the daemon was told and nobody heard the answer to is told again, and done once.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use palyra_testkit::fs::private_dir;
use serde_json::Value;

use crate::world::{LIMIT, World, until};

const ECHO: &str = "echo:default";

/// Passes on what is said on one socket to the daemon on another, and the answers back, but for the
/// first answer to something that changes anything: that is dropped with its connection. Counts what
/// changes something.
fn relay(at: &Path, daemon: &Path) -> Arc<AtomicUsize> {
    let changes = Arc::new(AtomicUsize::new(0));
    let (counted, daemon) = (Arc::clone(&changes), daemon.to_owned());
    let listener = UnixListener::bind(at).unwrap();
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let daemon = UnixStream::connect(&daemon).unwrap();
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || pass(client, daemon, &counted));
        }
    });
    changes
}

/// One question and its answer after the other, which fit a read here.
fn pass(mut client: UnixStream, mut daemon: UnixStream, changes: &AtomicUsize) {
    let mut piece = [0; 1 << 16];
    while let Ok(asked @ 1..) = client.read(&mut piece) {
        let is_first_change =
            piece.starts_with(b"POST") && changes.fetch_add(1, Ordering::Relaxed) == 0;
        daemon.write_all(&piece[..asked]).unwrap();
        let Ok(answered @ 1..) = daemon.read(&mut piece) else { return };
        if is_first_change {
            return;
        }
        client.write_all(&piece[..answered]).unwrap();
    }
}

/// What went out to a conversation.
fn sent(world: &World, conversation: &str) -> Vec<Value> {
    let said = world.palyra(&["message", "read", ECHO, conversation, "--json"]).expect(0).json();
    let said = said["items"].as_array().unwrap().clone();
    said.into_iter().filter(|said| said.get("sender").is_none_or(Value::is_null)).collect()
}

#[test]
fn a_message_whose_acceptance_was_not_heard_of_is_sent_once() {
    for (command, conversation) in [
        (&["message", "send", ECHO, "general", "hi"][..], "general"),
        (&["channels", "test-send", ECHO, "general"], "general"),
        (&["channels", "test", ECHO, "hello", "--conversation", "c1"], "c1"),
    ] {
        let world = World::new();
        let _daemon = world.palyrad();
        let other = world.home().join("other");
        private_dir(&other).unwrap();
        let changes = relay(&other.join("palyra.sock"), &world.data_dir().join("palyra.sock"));
        let away = ["--data-dir", other.to_str().unwrap()];
        let ran = world.palyra(&[&away[..], command].concat()).expect(0);
        assert!(ran.err.contains("waiting for the daemon"), "{ran:?}");
        assert_eq!(changes.load(Ordering::Relaxed), 2, "it was told again");
        assert_eq!(sent(&world, conversation).len(), 1, "{command:?}");
    }
}

#[test]
fn a_message_is_followed_over_a_restart() {
    let world = World::new();
    let mut daemon = world.palyrad();
    world.palyra(&["channels", "pause", ECHO, "--reason", "looking"]).expect(0);
    let mut send = world.beside(&["message", "send", ECHO, "general", "hi", "--wait", "10m"]);
    let waiting = || {
        let shown = world.palyra(&["channels", "show", ECHO, "--json"]).expect(0).json();
        shown["waiting"] == 1
    };
    until("it is in the queue", waiting);
    daemon.kill_dash_nine().unwrap();
    send.wait_for_line("waiting for the daemon", LIMIT).unwrap();
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    world.palyra(&["channels", "resume", ECHO]).expect(0);
    assert!(send.wait(LIMIT).unwrap().success(), "{}", send.logs());
    assert_eq!(sent(&world, "general").len(), 1);
}

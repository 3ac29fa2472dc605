//! What agents show: over the API, over a restart, and in a channel.

use serde_json::{Value, json};

use crate::daemon::{Daemon, LIMIT};

const ECHO: &str = "/admin/v1/channels/echo:default";

#[test]
fn a_surface_survives_a_restart() {
    let mut daemon = Daemon::start();
    let session = daemon.begin();
    let run = daemon.say(&session, "show a card about the old harbour");
    daemon.until_run(&run, "completed");
    let path = format!("/admin/v1/sessions/{session}/surfaces");
    let before = daemon.get(&path)["items"].clone();
    let [shown] = &before.as_array().unwrap()[..] else { panic!("{before}") };
    assert!(shown["text"].as_str().unwrap().starts_with("the old harbour\n"), "{shown}");
    assert!(shown["text"].as_str().unwrap().ends_with("[Thanks]"), "{shown}");
    let messages = shown["messages"].as_array().unwrap();
    assert_eq!(messages[0]["createSurface"]["surfaceId"], shown["surface"]);
    assert!(messages[1]["updateComponents"]["components"].is_array());
    daemon.process.kill_dash_nine().unwrap();
    daemon.process.restart().unwrap();
    daemon.process.wait_ready(LIMIT).unwrap();
    assert_eq!(daemon.get(&path)["items"], before);
    // The next run of the session goes on with what was there.
    let gone = json!({"messages": [
        {"version": "v0.9", "deleteSurface": {"surfaceId": shown["surface"]}},
    ]});
    let run = daemon.say(&session, &format!("use ui.show {gone}"));
    daemon.until_run(&run, "completed");
    assert_eq!(daemon.get(&path)["items"], json!([]));
    let replayed = daemon.get(&format!("/admin/v1/runs/{run}/replay"));
    assert_eq!(replayed["same"], true, "{replayed}");
}

#[test]
fn a_card_comes_into_a_channel_once_as_text() {
    let daemon = Daemon::start();
    let answer = daemon.answer_to("show a card about the old harbour");
    assert!(answer.starts_with("ui.show gave: the surface card-"), "{answer}");
    let said = daemon.get(&format!("{ECHO}/messages?conversation=test"));
    let texts: Vec<_> =
        said["items"].as_array().unwrap().iter().filter_map(|said| said["text"].as_str()).collect();
    let cards = texts.iter().filter(|text| text.contains("[Thanks]")).count();
    assert_eq!(cards, 1, "{texts:?}");
    let run: Value = daemon.get("/admin/v1/runs")["items"][0].clone();
    let run = run["id"].as_str().unwrap();
    assert_eq!(daemon.get(&format!("/admin/v1/runs/{run}/replay"))["same"], true);
    let exported = daemon.get(&format!("/admin/v1/runs/{run}/export"))["items"].clone();
    let updates =
        exported.as_array().unwrap().iter().filter(|entry| entry["kind"] == "a2ui.update");
    assert_eq!(updates.count(), 2, "{exported}");
}

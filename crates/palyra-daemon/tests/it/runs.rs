//! Agents at work in a daemon: what they think with, and what is told of it.

use std::time::Instant;

use palyra_testkit::model_sim::{MODEL, ModelSim};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::agents::next;
use crate::daemon::{Daemon, LIMIT};
use crate::secrets::assert_absent;

const ECHO: &str = "/admin/v1/channels/echo:default";
const KEY: &str = "sk-canary-2b8f5c1e9d7a-do-not-show";

/// A configuration with a provider at `url`, whose key is in the vault.
fn with_provider(url: &str) -> String {
    format!(
        "[models]\ndefault = [\"sim\"]\ntitles = false\n\n\
         [models.providers.sim]\nkind = \"openai\"\nbase_url = \"{url}\"\napi_key = \"global/sim\"\n\n\
         [models.entries.sim]\nprovider = \"sim\"\nmodel = \"{MODEL}\"\n\
         input_price = 2500000\noutput_price = 10000000\n"
    )
}

impl Daemon {
    /// Says something through the echo channel, and waits for what is answered.
    pub(crate) fn answer_to(&self, text: &str) -> String {
        let test = self.ask("POST", &format!("{ECHO}/test"), &json!({ "text": text }));
        assert_eq!(test.status, 202, "{test:?}");
        let reply = test.json()["reply"].as_str().unwrap().to_owned();
        let state = self.until(&format!("{ECHO}/outbox/{reply}"), |state| {
            let parts = state["parts"].as_array().unwrap();
            !parts.is_empty() && parts.iter().all(|part| part["state"] == "delivered")
        });
        let natives: Vec<&Value> =
            state["parts"].as_array().unwrap().iter().map(|part| &part["native"]).collect();
        let said = self.get(&format!("{ECHO}/messages?conversation=test"));
        let said = said["items"].as_array().unwrap().iter().rev();
        let parts = said.filter(|said| natives.contains(&&said["native"]));
        parts.map(|said| said["text"].as_str().unwrap()).collect()
    }
}

fn metric(daemon: &Daemon, name: &str) -> Option<f64> {
    let figures = daemon.local("GET", "/metrics", "").body;
    let line = figures.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn what_is_said_in_a_channel_is_answered_by_the_offline_model() {
    let daemon = Daemon::start();
    let answer = daemon.answer_to("what time is it?");
    assert!(answer.starts_with("time.now gave: "), "{answer}");
    let status = daemon.until("/admin/v1/status", |status| status["runs"]["running"] == 0);
    assert_eq!((&status["ready"], &status["runs"]["queued"]), (&json!(true), &json!(0)));
    assert_eq!(metric(&daemon, "palyra_runs_ended_total{end=\"answered\"}"), Some(1.0));
    assert_eq!(metric(&daemon, "palyra_runs{phase=\"running\"}"), Some(0.0));
    assert_eq!(metric(&daemon, "palyra_approvals_waiting"), Some(0.0));
    let sent = "palyra_outbox_attempts_total{channel=\"echo:default\",outcome=\"delivered\"}";
    assert_eq!(metric(&daemon, sent), Some(1.0));
    let waiting = "palyra_outbox_messages{channel=\"echo:default\",waits_for=\"turn\"}";
    assert_eq!(metric(&daemon, waiting), Some(0.0));
    let seconds = "palyra_outbox_delivery_seconds_count{channel=\"echo:default\"}";
    assert_eq!(metric(&daemon, seconds), Some(1.0));
    let spoken = "palyra_model_tokens_total{model=\"offline\",direction=\"output\"}";
    assert!(metric(&daemon, spoken).is_some_and(|tokens| tokens > 0.0));
    let doctor = daemon.get("/admin/v1/doctor")["checks"].clone();
    let check = |name: &str| {
        let found = doctor.as_array().unwrap().iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {doctor}")).clone()
    };
    for name in ["models", "agents", "runs", "channels"] {
        assert_eq!(check(name)["state"], "ok", "{}", check(name));
    }
}

/// Whoever watches hears of it, also behind the end of the run, and then that there is no more.
#[test]
fn what_became_of_an_answer_is_on_the_tape_of_its_run() {
    let daemon = Daemon::start();
    let test = daemon.ask("POST", &format!("{ECHO}/test"), &json!({ "text": "hello" })).json();
    let reply = test["reply"].as_str().unwrap();
    let run = reply.strip_prefix("run-").unwrap();
    let mut stream = daemon.stream(&format!("/admin/v1/runs/{run}/events"), None);
    let seen: Vec<_> = std::iter::from_fn(|| next(&mut stream)).collect();
    let kinds: Vec<_> = seen.iter().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["run.finished", "delivery.settled"], "{kinds:?}");
    let tape = daemon.get(&format!("/admin/v1/runs/{run}/tape"))["items"].clone();
    let last = tape.as_array().unwrap().last().unwrap();
    let settled = json!({ "connector": "echo:default", "envelope": reply, "state": "delivered" });
    assert_eq!(last["payload"], settled);
    let mut again = daemon.stream(&format!("/admin/v1/runs/{run}/events"), last["seq"].as_i64());
    assert_eq!(next(&mut again), None);
}

/// The key reaches the provider, and is seen nowhere else: neither in files nor in logs nor in
/// answers. Each use of it is in the audit trail.
#[test]
fn a_provider_is_asked_with_the_key_of_the_vault() {
    let sim = ModelSim::start().unwrap();
    sim.require_key(KEY);
    let (daemon, folder) = Daemon::with_config(&with_provider(&sim.openai_url()));
    let models = |daemon: &Daemon| {
        let doctor = daemon.get("/admin/v1/doctor")["checks"].clone();
        let checks = doctor.as_array().unwrap().iter();
        checks.clone().find(|check| check["name"] == "models").cloned().unwrap()
    };
    let missing = models(&daemon);
    assert_eq!(missing["state"], "failed", "{missing}");
    assert!(missing["advice"].as_str().unwrap().contains("palyra secrets set global/sim"));
    let answer = daemon.answer_to("hello");
    assert!(answer.contains("I could not answer: the model failed"), "{answer}");
    assert!(sim.asked().is_empty(), "nobody is asked without a key");

    let value = json!({ "value": KEY });
    assert_eq!(daemon.ask("PUT", "/admin/v1/secrets/global/sim", &value).status, 200);
    assert_eq!(models(&daemon)["state"], "ok");
    let answer = daemon.answer_to("hello");
    assert!(answer.contains("hello"), "{answer}");
    assert_eq!(sim.asked()[0].key.as_deref(), Some(KEY));
    let uses = daemon.get("/admin/v1/events?action=secret.read")["items"][0].clone();
    let of = (&uses["subject"], &uses["outcome"], &uses["detail"]["purpose"]);
    assert_eq!(of, (&json!("secret:global/sim"), &json!("ok"), &json!("to ask a model")));
    let cost = metric(&daemon, "palyra_model_cost_micros_total{model=\"sim\"}");
    assert!(cost.is_some_and(|micros| micros > 0.0), "{cost:?}");
    assert_absent(folder.path(), &[KEY]);
    assert!(!daemon.process.logs().contains(KEY));

    // Whoever says it has said it; neither a model nor the platform gets it.
    let answer = daemon.answer_to(&format!("is it {KEY}?"));
    assert!(answer.contains("[redacted:global/sim]") && !answer.contains(KEY), "{answer}");
    assert!(!sim.asked()[1].body.to_string().contains(KEY), "{:?}", sim.asked());
}

#[test]
fn models_are_read_again_without_a_restart() {
    let (first, second) = (ModelSim::start().unwrap(), ModelSim::start().unwrap());
    let without_key = |text: String| text.replace("api_key = \"global/sim\"\n", "");
    let config = |sim: &ModelSim| without_key(with_provider(&sim.openai_url()));
    let (daemon, folder) = Daemon::with_config(&config(&first));
    assert!(daemon.answer_to("one").contains("one"));
    assert_eq!(first.asked().len(), 1);
    std::fs::write(folder.path().join("palyra.toml"), config(&second)).unwrap();
    let process = Pid::from_raw(daemon.process.id().try_into().unwrap()).unwrap();
    kill_process(process, Signal::HUP).unwrap();
    let deadline = Instant::now() + LIMIT;
    while second.asked().is_empty() {
        assert!(Instant::now() < deadline, "{}", daemon.process.logs());
        daemon.answer_to("two");
    }
}

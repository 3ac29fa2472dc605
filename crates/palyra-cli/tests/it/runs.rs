//! Agents, sessions, runs, approvals and models, as programs read them and when they are asked wrongly.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Barrier;

use palyra_common::data_dir::SOCKET;
use palyra_testkit::model_sim::{ModelSim, Reply};
use palyra_testkit::process::{Process, Stream};
use serde_json::{Value, json};

use crate::shapes::shape;
use crate::world::{LIMIT, World, until};

const NOBODY: &str = "01HZ3V9K8M2QF6T7Y4W5X6A7B8";

impl World {
    /// The run that is worked on now.
    pub(crate) fn running(&self) -> String {
        let list = ["runs", "list", "--phase", "running", "--json"];
        let mut run = None;
        until("a run is worked on", || {
            let runs = self.palyra(&list).expect(0).json();
            run = runs["items"][0]["id"].as_str().map(str::to_owned);
            run.is_some()
        });
        run.unwrap()
    }

    /// A run that waits for somebody, and its question.
    fn asking(&self) -> (String, String) {
        let waits = ["chat", "write a.md: x", "--json", "--wait", "1ms"];
        let run = self.palyra(&waits).expect(7).json()["run"].as_str().unwrap().to_owned();
        let mut asked = None;
        until("somebody is asked", || {
            let list = self.palyra(&["approvals", "list", "--json"]).expect(0).json();
            let items = list["items"].as_array().unwrap().clone();
            asked = items.into_iter().find(|one| one["asker"]["run"] == run.as_str());
            asked.is_some()
        });
        (run, asked.unwrap()["id"].as_str().unwrap().to_owned())
    }
}

impl World {
    /// The state of a question that was decided so, or why it could not be.
    fn decide_over_http(&self, question: &str, verdict: &str) -> Result<String, String> {
        let mut stream = UnixStream::connect(self.data_dir().join(SOCKET)).unwrap();
        let body = json!({ "verdict": verdict }).to_string();
        let path = format!("/admin/v1/approvals/{question}/decision");
        let head = "Host: palyra\r\nContent-Type: application/json\r\nConnection: close";
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let text = |key: &str| body[key].as_str().unwrap().to_owned();
        match head.split(' ').nth(1) {
            Some("200") => Ok(text("state")),
            Some("409") => Err(text("code")),
            other => panic!("{other:?}: {answer}"),
        }
    }
}

#[test]
fn the_shapes_are_as_reviewed() {
    let world = World::new();
    let _daemon = world.palyrad();
    let shapes = RefCell::new(BTreeMap::new());
    let shape_of = |name: &'static str, arguments: &[&str]| {
        let ran = world.palyra(&[arguments, &["--json"]].concat()).expect(0);
        assert_eq!(ran.err, "", "{arguments:?}");
        shapes.borrow_mut().insert(name, shape(&ran.json()));
        ran.json()
    };
    shape_of("agents list", &["agents", "list"]);
    shape_of("agents add", &["agents", "add", "ops", "tools=time.now", "limits.turns=3"]);
    shape_of("agents set", &["agents", "set", "ops", "name=Operations", "budgets.day.tokens=1000"]);
    shape_of("agents show", &["agents", "show", "ops"]);
    shape_of("agents remove", &["agents", "remove", "ops", "--yes"]);
    shape_of("models list", &["models", "list"]);
    shape_of("models test", &["models", "test", "offline"]);
    let chat = shape_of("chat", &["chat", "what time is it"]);
    let (run, session) = (chat["run"].as_str().unwrap(), chat["session"].as_str().unwrap());
    shape_of("runs list", &["runs", "list"]);
    shape_of("runs show", &["runs", "show", run]);
    shape_of("sessions list", &["sessions", "list"]);
    shape_of("sessions rename", &["sessions", "rename", session, "The time"]);
    shape_of("sessions fork", &["sessions", "fork", session]);
    shape_of("sessions reset", &["sessions", "reset", session]);
    shape_of("sessions show", &["sessions", "show", session]);
    let tape = world.palyra(&["runs", "tail", run, "--json"]).expect(0);
    let tape: Vec<Value> =
        tape.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(tape.len() > 4, "{tape:?}");
    let (_, asked) = world.asking();
    shape_of("approvals list", &["approvals", "list"]);
    shape_of("approvals show", &["approvals", "show", &asked]);
    shape_of("approvals deny", &["approvals", "deny", &asked, "--reason", "not now"]);
    shape_of("sessions archive", &["sessions", "archive", session]);
    insta::assert_json_snapshot!("of_agents_and_runs", shapes.into_inner());
}

/// Whoever decides second is told so, and what the first one has decided.
#[test]
fn of_the_command_line_and_the_api_one_decides() {
    let world = World::new();
    let _daemon = world.palyrad();
    let (run, asked) = world.asking();
    let verdict = |n: usize| if n.is_multiple_of(2) { "approve" } else { "deny" };
    let all_at_once = Barrier::new(8);
    let decide = |n: usize| {
        all_at_once.wait();
        if n < 4 {
            let ran = world.palyra(&["approvals", verdict(n), &asked, "--json"]);
            return match ran.code {
                0 => Ok(ran.json()["state"].as_str().unwrap().to_owned()),
                _ => Err(ran.error_code()),
            };
        }
        world.decide_over_http(&asked, verdict(n))
    };
    let decided: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let decide = &decide;
        let all: Vec<_> = (0..8).map(|n| scope.spawn(move || decide(n))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let won: Vec<_> = decided.iter().flatten().collect();
    assert_eq!(won.len(), 1, "{decided:?}");
    let lost: Vec<_> = decided.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(lost.iter().all(|code| *code == "common/conflict"), "{decided:?}");
    let shown = world.palyra(&["approvals", "show", &asked, "--json"]).expect(0).json();
    assert_eq!(shown["state"], won[0].as_str());
    until("the run goes on", || {
        world.palyra(&["runs", "show", &run, "--json"]).expect(0).json()["phase"] == "completed"
    });
    let file = world.data_dir().join("workspaces/default/a.md");
    assert_eq!(file.exists(), won[0] == "approved");
}

#[test]
fn people_read_tables_and_fields() {
    let world = World::new();
    let _daemon = world.palyrad();
    let (run, asked) = world.asking();
    let says = |arguments: &[&str], expected: &[&str]| {
        let out = world.palyra(arguments).expect(0).out;
        let plain = out.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        for text in expected {
            assert!(plain.contains(text), "{arguments:?}: {text:?} is missing:\n{out}");
        }
    };
    says(&["agents", "list"], &["AGENT NAME MODELS TOOLS CHANGED\n", "default Palyra "]);
    says(&["agents", "show", "default"], &["a run has at most 24 turns, 48 tool calls, 15m\n"]);
    says(&["runs", "list"], &["waiting_for_approval"]);
    says(
        &["runs", "show", &run],
        &["is waiting_for_approval", &format!("`palyra runs tail {run}`")],
    );
    says(&["approvals", "list"], &["pending medium", &asked]);
    says(&["status"], &["1 waits for an approval"]);
    says(&["approvals", "approve", &asked], &["is approved by "]);
    says(
        &["runs", "tail", &run],
        &["run.queued", "approval.decided", "run.finished completed, answered"],
    );
    says(&["approvals", "list"], &["There is none."]);
    says(&["approvals", "list", "--all"], &["approved medium"]);
    says(&["sessions", "list"], &["default cli "]);
    says(&["models", "list"], &["offline offline offline open"]);
    says(&["models", "test"], &["offline answers within "]);
}

#[test]
fn what_is_not_there_is_said_to_be_missing() {
    let world = World::new();
    let _daemon = world.palyrad();
    for arguments in [
        &["agents", "show", "nobody"][..],
        &["agents", "set", "nobody", "name=x"],
        &["agents", "remove", "nobody", "--yes"],
        &["sessions", "show", NOBODY],
        &["sessions", "rename", NOBODY, "x"],
        &["sessions", "fork", NOBODY],
        &["sessions", "reset", NOBODY],
        &["sessions", "archive", NOBODY],
        &["runs", "show", NOBODY],
        &["runs", "tail", NOBODY],
        &["runs", "abort", NOBODY],
        &["runs", "pause", NOBODY],
        &["runs", "resume", NOBODY],
        &["approvals", "show", NOBODY],
        &["approvals", "approve", NOBODY],
        &["approvals", "deny", NOBODY],
        &["models", "test", "nothing"],
    ] {
        let ran = world.palyra(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 5, "{arguments:?}: {ran:#?}");
        let told: Value = serde_json::from_str(&ran.err).unwrap();
        assert!(!told["error"]["recovery_hint"].as_str().unwrap().is_empty(), "{told}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::new();
    let _daemon = world.palyrad();
    for arguments in [
        &["agents", "add", "ops", "nonsense=1"][..],
        &["agents", "add", "ops", "limits.turns=0"],
        &["agents", "add", "ops", "name"],
        &["agents", "add", "no name"],
        &["agents", "add", "ops", "models=nope"],
        &["agents", "set", "default"],
        &["agents", "set", "default", "models=offline,nope"],
        &["agents", "remove", "default", "--yes"],
        &["agents", "remove", "ops"],
        &["sessions", "rename", "nonsense", "x"],
        &["sessions", "show", NOBODY, "--messages", "0"],
        &["sessions", "list", "--after", "nonsense"],
        &["runs", "show", "nonsense"],
        &["runs", "list", "--phase", "nonsense"],
        &["runs", "list", "--limit", "0"],
        &["runs", "list", "--after", "nonsense"],
        &["runs", "tail", NOBODY, "--after", "-1"],
        &["approvals", "list", "--state", "nonsense"],
        &["approvals", "list", "--state", "denied", "--all"],
        &["approvals", "approve", "nonsense"],
    ] {
        let ran = world.palyra(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:#?}");
        let code = ran.error_code();
        assert!(
            ["common/invalid_input", "http/malformed"].contains(&&*code),
            "{arguments:?}: {code}"
        );
    }
}

#[test]
fn what_was_decided_or_has_ended_stays_so() {
    let world = World::new();
    let _daemon = world.palyrad();
    let (run, asked) = world.asking();
    let other = "0".repeat(64);
    let wrong = ["approvals", "approve", &asked, "--digest", &other, "--json"];
    assert_eq!(world.palyra(&wrong).expect(6).error_code(), "common/conflict");
    let shown = world.palyra(&["approvals", "show", &asked, "--json"]).expect(0).json();
    let digest = shown["payload_sha256"].as_str().unwrap();
    world.palyra(&["approvals", "approve", &asked, "--digest", digest]).expect(0);
    for verdict in ["approve", "deny"] {
        let again = world.palyra(&["approvals", verdict, &asked, "--json"]).expect(6);
        assert_eq!(again.error_code(), "common/conflict");
        assert!(!again.err.contains("try again"), "it stays as it is: {again:?}");
    }
    world.palyra(&["runs", "tail", &run]).expect(0);
    for wish in ["abort", "pause", "resume"] {
        let late = world.palyra(&["runs", wish, &run, "--json"]).expect(6);
        assert_eq!(late.error_code(), "common/conflict");
    }
    assert_eq!(
        world.palyra(&["agents", "add", "default", "--json"]).expect(6).error_code(),
        "common/conflict"
    );

    let (run, asked) = world.asking();
    let paused = world.palyra(&["runs", "pause", &run, "--json"]).expect(0).json();
    assert_eq!(paused["phase"], "paused");
    world.palyra(&["runs", "resume", &run]).expect(0);
    world.palyra(&["approvals", "deny", &asked]).expect(0);
    world.palyra(&["runs", "tail", &run]).expect(0);
}

#[test]
fn questions_are_shown_as_they_come_and_with_their_answers() {
    let world = World::new();
    let mut daemon = world.palyrad();
    let (_, first) = world.asking();
    let watch = Process::builder(env!("CARGO_BIN_EXE_palyra"));
    let watch =
        watch.args(["approvals", "watch", "--json"]).env("PALYRA_DATA_DIR", world.data_dir());
    let watch = watch.env("HOME", world.home()).spawn().unwrap();
    watch.wait_for_line(&first, LIMIT).unwrap();
    world.palyra(&["approvals", "deny", &first]).expect(0);
    watch.wait_for_line("\"state\":\"denied\"", LIMIT).unwrap();
    daemon.kill_dash_nine().unwrap();
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    let (_, second) = world.asking();
    watch.wait_for_line(&second, LIMIT).unwrap();
    let lines = watch.lines(Stream::Stdout).unwrap();
    let of = |id: &str| lines.iter().filter(|line| line.contains(id)).count();
    assert_eq!((of(&first), of(&second)), (2, 1), "{lines:#?}");
}

#[test]
fn a_model_of_a_provider_is_tested_for_real() {
    let (world, sim) = (World::new(), ModelSim::start().unwrap());
    sim.require_key("sk-1");
    world.thinks_with(&sim);
    let _daemon = world.palyrad();
    let failed = world.palyra(&["models", "test", "sim", "--json"]).expect(7).json();
    let told = failed["items"][0]["error"].as_str().unwrap();
    assert!(told.contains("global/sim"), "{failed}");
    assert!(sim.asked().is_empty(), "nobody is asked without a key");
    world.palyra_reading(&["secrets", "set", "sim"], b"sk-1").expect(0);
    sim.reply(Reply::text("I am here."));
    let tested = world.palyra(&["models", "test", "sim"]).expect(0);
    assert!(tested.out.starts_with("sim answers within "), "{tested:?}");
    assert!(tested.out.ends_with("I am here.\n"), "{tested:?}");
    assert_eq!(sim.asked()[0].key.as_deref(), Some("sk-1"));
    sim.reply(Reply::status(500, "server_error", "no"));
    let failed = world.palyra(&["models", "test"]).expect(7);
    assert!(failed.out.contains("offline answers"), "{failed:?}");
    assert!(failed.out.contains("sim does not answer"), "{failed:?}");
}

/// Whoever has mended a provider need not wait until it is tried again.
#[test]
fn a_provider_that_is_left_alone_is_tested_and_the_doctor_says_why_it_is() {
    let (world, sim) = (World::new(), ModelSim::start().unwrap());
    world.thinks_with(&sim);
    let _daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "sim"], b"sk-1").expect(0);
    sim.reply(Reply::rate_limited("600"));
    world.palyra(&["models", "test", "sim"]).expect(7);
    let told = world.palyra(&["doctor"]);
    assert!(told.out.contains("left alone after failures: sim"), "{told:?}");
    assert!(told.out.contains("because it asks to wait"), "{told:?}");
    sim.reply(Reply::text("I am back."));
    let tested = world.palyra(&["models", "test", "sim"]).expect(0);
    assert!(tested.out.ends_with("I am back.\n"), "{tested:?}");
    let told = world.palyra(&["doctor"]);
    assert!(!told.out.contains("left alone"), "{told:?}");
}

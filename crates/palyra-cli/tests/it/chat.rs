//! Talking to an agent, as somebody does who has just installed Palyra and has no key.

use palyra_testkit::fs::private_dir;
use palyra_testkit::model_sim::{Fault, Gate, MODEL, ModelSim, Reply};
use palyra_testkit::process::{Process, Stream};
use serde_json::Value;

use crate::terminal::Terminal;
use crate::world::{LIMIT, World, until};

impl World {
    /// A file of the default agent.
    fn workspace(&self, name: &str) -> std::path::PathBuf {
        self.data_dir().join("workspaces/default").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.workspace(name);
        private_dir(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// The one question that waits for somebody.
    fn waiting(&self) -> String {
        let mut id = None;
        until("somebody is asked", || {
            let asked = self.palyra(&["approvals", "list", "--json"]).expect(0).json();
            id = asked["items"][0]["id"].as_str().map(str::to_owned);
            id.is_some()
        });
        id.unwrap()
    }

    /// A `palyra` that goes on while others are run.
    pub(crate) fn beside(&self, arguments: &[&str]) -> Process {
        let palyra = Process::builder(env!("CARGO_BIN_EXE_palyra"));
        let palyra = palyra.args(arguments).env("PALYRA_DATA_DIR", self.data_dir());
        palyra.env("HOME", self.home()).spawn().unwrap()
    }

    /// Configures a model of a simulator as the one that the default agent thinks with.
    pub(crate) fn thinks_with(&self, sim: &ModelSim) {
        private_dir(self.data_dir()).unwrap();
        let config = format!(
            "[models]\ndefault = [\"sim\"]\n\n\
             [models.providers.sim]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key = \"global/sim\"\n\n\
             [models.entries.sim]\nprovider = \"sim\"\nmodel = \"{MODEL}\"\n",
            sim.openai_url()
        );
        std::fs::write(self.data_dir().join("palyra.toml"), config).unwrap();
    }
}

fn out_of(process: &Process) -> String {
    process.lines(Stream::Stdout).unwrap().join("\n")
}

fn err_of(process: &Process) -> String {
    process.lines(Stream::Stderr).unwrap().join("\n")
}

#[test]
fn it_goes_on_where_something_was_said_last_and_somebody_answers() {
    let world = World::new();
    let _daemon = world.palyrad();
    let session = |arguments: &[&str]| {
        let said = world.palyra(&[&["chat", "--json"], arguments].concat()).expect(0).json();
        said["session"].as_str().unwrap().to_owned()
    };
    let (first, second) = (session(&["--new", "one"]), session(&["--new", "two"]));
    world.palyra(&["sessions", "rename", &first, "another name"]).expect(0);
    assert_eq!(session(&["three"]), second, "a name is nothing that was said");
    world.palyra(&["agents", "add", "ops"]).expect(0);
    session(&["--agent", "ops", "four"]);
    world.palyra(&["agents", "remove", "ops", "--yes"]).expect(0);
    assert_eq!(session(&["five"]), second, "nobody would answer there");
    world.palyra(&["chat", "--agent", "ops", "six"]).expect(5);
}

#[test]
fn it_tells_that_another_model_answers() {
    let world = World::new();
    let sim = ModelSim::start().unwrap();
    world.thinks_with(&sim);
    let file = world.data_dir().join("palyra.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, config.replace("[\"sim\"]", "[\"sim\", \"offline\"]")).unwrap();
    let _daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "sim"], b"sk-1").expect(0);
    drop(sim);
    let run = world.palyra(&["chat", "hello"]).expect(0);
    assert!(run.out.starts_with("Hello. This is the offline model"), "{run:?}");
    assert!(run.err.contains("offline answers instead of sim: "), "{run:?}");
}

#[test]
fn it_answers_and_goes_on_in_the_same_conversation() {
    let world = World::new();
    let _daemon = world.palyrad();
    let first = world.palyra(&["chat", "hello"]).expect(0);
    assert!(first.out.starts_with("Hello. This is the offline model"), "{first:?}");
    assert_eq!(first.err, "", "there is nothing to tell beside the answer");
    world.palyra_reading(&["chat"], b"good morning\nto you\n").expect(0);
    world.palyra(&["chat", "-", "--new"]).expect(2);
    let sessions = world.palyra(&["sessions", "list", "--json"]).expect(0).json();
    let session = sessions["items"][0]["id"].as_str().unwrap();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "it goes on: {sessions}");
    let shown = world.palyra(&["sessions", "show", session, "--json"]).expect(0).json();
    let said: Vec<_> = shown["messages"].as_array().unwrap().iter().rev().collect();
    assert_eq!(
        (&said[0]["text"], &said[2]["text"]),
        (&"hello".into(), &"good morning\nto you".into())
    );
    assert_eq!((&said[1]["role"], &said[3]["role"]), (&"agent".into(), &"agent".into()));

    let other = world.palyra(&["chat", "hello", "--new", "--json"]).expect(0).json();
    assert_ne!(other["session"], *session);
    let here = world.palyra(&["chat", "hello", "--session", session, "--json"]).expect(0).json();
    assert_eq!(here["session"], *session);
    let last = world.palyra(&["chat", "hello", "--json"]).expect(0).json();
    assert_eq!(last["session"], *session, "something was said there last");
    world.palyra(&["agents", "add", "ops"]).expect(0);
    let ops = world.palyra(&["chat", "hello", "--agent", "ops", "--json"]).expect(0).json();
    assert_ne!(ops["session"], *session);
    let again = world.palyra(&["chat", "hello", "--agent", "ops", "--json"]).expect(0).json();
    assert_eq!(again["session"], ops["session"]);
}

#[test]
fn a_card_is_shown_as_text() {
    let world = World::new();
    let _daemon = world.palyrad();
    let chat = world.palyra(&["chat", "show a card about the old harbour"]).expect(0);
    assert!(chat.out.starts_with("the old harbour\n"), "{chat:?}");
    assert_eq!(chat.out.matches("[Thanks]").count(), 1, "{chat:?}");
    let sessions = world.palyra(&["sessions", "list", "--json"]).expect(0).json();
    let session = sessions["items"][0]["id"].as_str().unwrap();
    let shown = world.palyra(&["sessions", "show", session]).expect(0);
    assert!(shown.out.contains("shown as card-") && shown.out.contains("[Thanks]\n"), "{shown:?}");
    let runs = world.palyra(&["runs", "list", "--json"]).expect(0).json();
    let tail = world.palyra(&["runs", "tail", runs["items"][0]["id"].as_str().unwrap()]).expect(0);
    assert!(tail.out.contains("by t1c0: updateComponents"), "{tail:?}");
}

#[test]
fn it_reads_a_file_and_shows_that_in_one_line() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.write("notes.md", "buy milk");
    let read = world.palyra(&["chat", "read notes.md"]).expect(0);
    assert!(read.out.contains("buy milk"), "{read:?}");
    assert_eq!(read.err.matches("→ fs.read").count(), 1, "{read:?}");
    assert_eq!(read.err.lines().count(), 1, "{read:?}");
    let missing = world.palyra(&["chat", "read nothing.md"]).expect(0);
    assert!(missing.err.contains("✗ fs.read"), "{missing:?}");
}

#[test]
fn it_writes_a_file_once_somebody_said_yes_in_another_terminal() {
    let world = World::new();
    let _daemon = world.palyrad();
    let mut chat = world.beside(&["chat", "write notes.md: buy milk"]);
    let id = world.waiting();
    chat.wait_for_line(&format!("`palyra approvals approve {id}`"), LIMIT).unwrap();
    chat.wait_for_line("\"content\": \"buy milk\"", LIMIT).unwrap();
    assert!(!world.workspace("notes.md").exists(), "nothing is done before");
    let shown = world.palyra(&["approvals", "show", &id]).expect(0);
    assert!(shown.out.contains("\"path\": \"notes.md\""), "{shown:?}");
    world.palyra(&["approvals", "approve", &id, "--reason", "as agreed"]).expect(0);
    assert!(chat.wait(LIMIT).unwrap().success(), "{}", chat.logs());
    assert_eq!(std::fs::read_to_string(world.workspace("notes.md")).unwrap(), "buy milk");
    assert!(err_of(&chat).contains("approved by") && err_of(&chat).contains("as agreed"));
    assert_eq!(out_of(&chat).matches("fs.write gave: ").count(), 1, "{}", chat.logs());

    let mut chat = world.beside(&["chat", "write notes.md: buy wine"]);
    let id = world.waiting();
    world.palyra(&["approvals", "deny", &id, "--reason", "no wine"]).expect(0);
    assert!(chat.wait(LIMIT).unwrap().success(), "{}", chat.logs());
    assert!(out_of(&chat).contains("fs.write failed: ") && out_of(&chat).contains("no wine"));
    assert_eq!(std::fs::read_to_string(world.workspace("notes.md")).unwrap(), "buy milk");
}

#[test]
fn who_does_not_want_to_wait_is_told_what_it_waits_for() {
    let world = World::new();
    let _daemon = world.palyrad();
    let waits = ["chat", "write notes.md: x", "--json", "--wait", "1s"];
    let left = world.palyra(&waits).expect(7).json();
    let id = world.waiting();
    assert_eq!(left["approvals"], serde_json::json!([id]));
    assert_eq!(left["phase"], "waiting_for_approval");
    assert_eq!(left.get("answer"), None);
    let run = left["run"].as_str().unwrap();
    let aborted = world.palyra(&["runs", "abort", run, "--json"]).expect(0).json();
    assert_eq!((&aborted["phase"], &aborted["end"]), (&"aborted".into(), &"stopped".into()));
    let asked = world.palyra(&["approvals", "show", &id, "--json"]).expect(0).json();
    assert_eq!(asked["state"], "cancelled");
}

#[test]
fn at_a_terminal_one_talks_decides_and_leaves() {
    let world = World::new();
    let _daemon = world.palyrad();
    let mut terminal = Terminal::open(&world, "chat");
    terminal.wait_for("New session").wait_for("> ").keys("/nonsense\r");
    terminal.wait_for("There is no /nonsense; /help tells").wait_for("> ").keys("hello\r");
    terminal.wait_for("This is the offline model").wait_for("> ").keys("write a.md: one\\\r");
    terminal.keys("two\r").wait_for("\"content\": \"one\\ntwo\"").wait_for("Approve? y or n");
    terminal.keys("perhaps\r").wait_for("Approve? y or n").keys("y go on\r");
    terminal.wait_for("approved by").wait_for(": go on").wait_for("→ fs.write").wait_for("> ");
    assert_eq!(std::fs::read_to_string(world.workspace("a.md")).unwrap(), "one\ntwo");

    // Decided elsewhere, it goes on by itself.
    terminal.keys("write a.md: three\r").wait_for("Approve? y or n");
    world.palyra(&["approvals", "deny", &world.waiting(), "--reason", "enough"]).expect(0);
    terminal.wait_for("denied by").wait_for("fs.write failed: ").wait_for("> ");
    // Ctrl-C stops what the agent does, which waits here.
    terminal.keys("write a.md: four\r").wait_for("Approve? y or n").keys("\x03");
    terminal.wait_for("stopping the run").wait_for("[Stopped]").wait_for("> ");
    terminal.keys("\x03").wait_for("Ctrl-C again leaves.").wait_for("> ").keys("\x04");
    let seen = terminal.end();
    assert!(seen.contains("code=0"), "{seen}");
    assert_eq!(seen.matches("Hello. This is the offline model").count(), 1, "{seen}");
    assert_eq!(std::fs::read_to_string(world.workspace("a.md")).unwrap(), "one\ntwo");
}

#[test]
fn whoever_comes_back_sees_what_was_under_way() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra(&["chat", "write a.md: x", "--wait", "1s"]).expect(7);
    world.waiting();
    let mut terminal = Terminal::open(&world, "chat");
    terminal.wait_for("goes on; /new begins another one").wait_for("is not over yet");
    terminal.wait_for("Approve? y or n").keys("y\r").wait_for("→ fs.write").wait_for("> ");
    terminal.keys("/new\r").wait_for("New session").wait_for("> ").keys("/quit\r");
    assert!(terminal.end().contains("code=0"));
    assert!(world.workspace("a.md").exists());
}

/// The question stays, and whoever looks at it is told where it is decided.
#[test]
fn whoever_ends_the_input_at_a_question_is_told_where_it_is_decided() {
    let world = World::new();
    let _daemon = world.palyrad();
    let mut terminal = Terminal::open(&world, "chat");
    terminal.wait_for("> ").keys("write a.md: x\r").wait_for("Approve? y or n").keys("\x04");
    terminal.wait_for("Nothing more is read here: `palyra ").wait_for("approvals approve ");
    let asked = world.palyra(&["approvals", "list", "--json"]).expect(0).json();
    let id = asked["items"][0]["id"].as_str().unwrap().to_owned();
    world.palyra(&["approvals", "approve", &id]).expect(0);
    terminal.wait_for("→ fs.write");
    assert!(terminal.end().contains("code=0"));
    assert!(world.workspace("a.md").exists());
}

/// The daemon is killed in the middle of an answer: what there was of it is taken back, and the
/// conversation goes on with one answer.
#[test]
fn a_conversation_goes_on_after_a_crash_of_the_daemon() {
    let (world, sim) = (World::new(), ModelSim::start().unwrap());
    sim.require_key("sk-1");
    world.thinks_with(&sim);
    let mut daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "sim"], b"sk-1").expect(0);
    let gate = Gate::shut();
    let broken = Reply::text("Twice is once too often").with(Fault::Gated(gate.clone()));
    sim.reply(broken);
    sim.reply(Reply::text("Twice is exactly right"));
    let mut terminal = Terminal::open(&world, "chat");
    terminal.wait_for("> ").keys("say something\r");
    gate.let_through(4);
    terminal.wait_for("Twice is");
    let mut piped = world.beside(&["runs", "tail", &world.running(), "--json"]);
    piped.wait_for_line("model.delta", LIMIT).unwrap();

    daemon.kill_dash_nine().unwrap();
    terminal.wait_for("waiting for the daemon");
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    terminal.wait_for("the daemon is back").wait_for("Twice is exactly right").wait_for("> ");
    terminal.keys("hello again\r").wait_for("hello again").wait_for("> ").keys("\x04");
    let seen = terminal.end();
    assert_eq!(seen.matches("Twice is exactly right").count(), 1, "{seen}");
    assert!(seen.contains("code=0"), "{seen}");

    assert!(piped.wait(LIMIT).unwrap().success(), "{}", piped.logs());
    let events: Vec<Value> = piped
        .lines(Stream::Stdout)
        .unwrap()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "none twice: {seqs:?}");
    let count = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    assert_eq!((count("run.queued"), count("input.message"), count("run.finished")), (1, 1, 1));
    assert_eq!(count("model.abandoned"), 1, "{events:#?}");
}

/// Whoever comes back to the screen sees what is asked of them.
#[test]
fn after_a_crash_of_the_daemon_an_open_question_is_asked_again() {
    let world = World::new();
    let mut daemon = world.palyrad();
    let mut terminal = Terminal::open(&world, "chat");
    terminal.wait_for("> ").keys("write a.md: x\r").wait_for("Approve? y or n");
    daemon.kill_dash_nine().unwrap();
    terminal.wait_for("waiting for the daemon");
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    terminal.wait_for("the daemon is back").wait_for("Approve? y or n").keys("y\r");
    terminal.wait_for("→ fs.write").wait_for("> ").keys("/quit\r");
    assert!(terminal.end().contains("code=0"));
    assert!(world.workspace("a.md").exists());
}

/// Without a terminal nothing is shown that could not be taken back.
#[test]
fn a_crash_leaves_one_answer_in_a_pipe() {
    let (world, sim) = (World::new(), ModelSim::start().unwrap());
    world.thinks_with(&sim);
    let mut daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "sim"], b"sk-1").expect(0);
    let gate = Gate::shut();
    sim.reply(Reply::text("wrong wrong wrong").with(Fault::Gated(gate.clone())));
    sim.reply(Reply::text("right"));
    let mut chat = world.beside(&["chat", "go"]);
    gate.let_through(3);
    sim.wait_for_asked(1, LIMIT).unwrap();
    daemon.kill_dash_nine().unwrap();
    chat.wait_for_line("waiting for the daemon", LIMIT).unwrap();
    daemon.restart().unwrap();
    assert!(chat.wait(LIMIT).unwrap().success(), "{}", chat.logs());
    assert_eq!(out_of(&chat), "right");
}

#[test]
fn a_run_without_an_answer_says_so_and_where_to_look() {
    let (world, sim) = (World::new(), ModelSim::start().unwrap());
    world.thinks_with(&sim);
    let _daemon = world.palyrad();
    sim.require_key("another");
    world.palyra_reading(&["secrets", "set", "sim"], b"sk-1").expect(0);
    let failed = world.palyra(&["chat", "hello"]).expect(7);
    assert!(failed.out.starts_with("[I could not answer: the model failed"), "{failed:?}");
    assert!(failed.err.contains("`palyra runs tail "), "{failed:?}");
    assert!(failed.err.contains("Set a valid key with `palyra secrets set`"), "{failed:?}");
    let failed = world.palyra(&["chat", "hello", "--json"]).expect(7).json();
    assert_eq!((&failed["phase"], &failed["end"]), (&"failed".into(), &"model_failed".into()));
    let (run, hint) = (failed["run"].as_str().unwrap(), failed["hint"].as_str().unwrap());
    let shown = world.palyra(&["runs", "show", run]).expect(0);
    let tail = world.palyra(&["runs", "tail", run]).expect(0);
    assert!(
        shown.out.contains("it does not accept the key") && shown.out.contains(hint),
        "{shown:?}"
    );
    assert!(tail.out.contains(hint), "{tail:?}");
    world.palyra(&["agents", "set", "default", "limits.cap.tokens=1"]).expect(0);
    let limited = world.palyra(&["chat", "hello", "--json"]).expect(7).json();
    assert_eq!(limited["end"], "token_limit");
    assert!(
        limited["hint"].as_str().unwrap().contains("`palyra agents show default`"),
        "{limited}"
    );
}

#[test]
fn what_cannot_be_said_is_refused() {
    let world = World::new();
    let no_daemon = world.palyra(&["chat", "hello", "--json"]).expect(3);
    assert_eq!(no_daemon.error_code(), "client/daemon_not_running");
    let _daemon = world.palyrad();
    let nobody = "01HZ3V9K8M2QF6T7Y4W5X6A7B8";
    for (arguments, code, told) in [
        (&["chat", " "][..], 2, "common/invalid_input"),
        (&["chat", "x", "--session", nobody], 5, "common/not_found"),
        (&["chat", "x", "--agent", "nobody"], 5, "common/not_found"),
        (&["chat", "x", "--agent", "nobody", "--new"], 5, "common/not_found"),
        (&["chat", "x", "--session", nobody, "--new"], 2, "common/invalid_input"),
        (&["chat", "x", "--wait", "soon"], 2, "common/invalid_input"),
    ] {
        let ran = world.palyra(&[arguments, &["--json"]].concat()).expect(code);
        assert_eq!(ran.error_code(), told, "{arguments:?}");
    }
    let long = "x".repeat(256 * 1024 + 1);
    let refused = world.palyra_reading(&["chat", "--json"], long.as_bytes()).expect(2);
    assert_eq!(refused.error_code(), "common/invalid_input");
    let session = world.palyra(&["chat", "hello", "--json"]).expect(0).json()["session"].clone();
    let session = session.as_str().unwrap();
    world.palyra(&["sessions", "archive", session]).expect(0);
    let archived = world.palyra(&["chat", "x", "--session", session, "--json"]).expect(6);
    assert_eq!(archived.error_code(), "common/conflict");
    assert!(archived.err.contains("`palyra chat --new`"), "{archived:?}");
    let other = world.palyra(&["chat", "hello", "--json"]).expect(0).json();
    assert_ne!(other["session"], *session, "nobody goes on in what was put away");
    let seen = Terminal::open(&world, "chat --json").end();
    assert!(seen.contains("code=2") && seen.contains("pipe it in"), "{seen}");
}

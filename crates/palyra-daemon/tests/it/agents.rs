//! Agents over the API: talking to them, watching them, and deciding what they ask.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use serde_json::{Value, json};

use crate::daemon::{Daemon, LIMIT};

impl Daemon {
    pub(crate) fn begin(&self) -> String {
        let begun = self.ask("POST", "/admin/v1/sessions", &json!({ "title": "a test" }));
        assert_eq!(begun.status, 201, "{begun:?}");
        begun.json()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn say(&self, session: &str, text: &str) -> String {
        let path = format!("/admin/v1/sessions/{session}/messages");
        let said = self.ask("POST", &path, &json!({ "text": text }));
        assert_eq!(said.status, 201, "{said:?}");
        said.json()["run"].as_str().unwrap().to_owned()
    }

    pub(crate) fn until_run(&self, run: &str, phase: &str) -> Value {
        self.until(&format!("/admin/v1/runs/{run}"), |run| run["phase"] == phase)
    }

    /// The one question that waits.
    pub(crate) fn question(&self) -> Value {
        let pending = "/admin/v1/approvals?state=pending";
        let found = self.until(pending, |page| page["items"].as_array().unwrap().len() == 1);
        found["items"][0].clone()
    }

    pub(crate) fn decide(&self, question: &Value, verdict: &str) -> crate::daemon::Answer {
        let path = format!("/admin/v1/approvals/{}/decision", question["id"].as_str().unwrap());
        let seen = &question["payload_sha256"];
        self.ask("POST", &path, &json!({ "verdict": verdict, "payload_sha256": seen }))
    }

    pub(crate) fn answer_of(&self, run: &str) -> String {
        let tape = self.get(&format!("/admin/v1/runs/{run}/tape"));
        let tape = tape["items"].as_array().unwrap();
        let finished = tape.iter().find(|entry| entry["kind"] == "run.finished").unwrap();
        finished["payload"]["answer"].as_str().unwrap().to_owned()
    }

    /// A stream of events as the local owner, from its body on.
    pub(crate) fn stream(&self, path: &str, last: Option<i64>) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(&self.running.socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: palyra\r\n{last}\r\n").unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        stream
    }
}

/// The next event: its number and its kind; nothing at the end, also if that is no good one.
pub(crate) fn next(stream: &mut impl BufRead) -> Option<(i64, String)> {
    let (mut seq, mut line) = (None, String::new());
    loop {
        line.clear();
        let read = stream.read_line(&mut line);
        let died = read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset);
        if died || !line.ends_with('\n') || line.trim_end() == "0" {
            return None;
        }
        if let Some(id) = line.strip_prefix("id: ") {
            seq = Some(id.trim().parse().unwrap());
        }
        if let Some(kind) = line.strip_prefix("event: ") {
            // What has no number says that there is no more.
            return seq.map(|seq| (seq, kind.trim().to_owned()));
        }
    }
}

#[test]
fn what_is_risky_is_done_after_a_yes_and_exactly_that() {
    let daemon = Daemon::start();
    let session = daemon.begin();
    let run = daemon.say(&session, "write notes.txt: buy milk");
    daemon.until_run(&run, "waiting_for_approval");
    let file = daemon.data_dir().join("workspaces/default/notes.txt");
    assert!(!file.exists());
    let question = daemon.question();
    assert_eq!((&question["subject"], &question["asker"]["run"]), (&json!("tool"), &json!(run)));
    assert!(question["payload"].as_str().unwrap().contains("buy milk"), "{question}");
    let other = json!({ "verdict": "approve", "payload_sha256": "0".repeat(64) });
    let path = format!("/admin/v1/approvals/{}/decision", question["id"].as_str().unwrap());
    assert_eq!(daemon.ask("POST", &path, &other).status, 409, "what was shown is something else");
    assert_eq!(daemon.decide(&question, "approve").status, 200);
    daemon.until_run(&run, "completed");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "buy milk");
    let again = daemon.decide(&question, "deny");
    assert_eq!((again.status, &*again.code()), (409, "common/conflict"));
    let decided = daemon.get(&format!("/admin/v1/approvals/{}", question["id"].as_str().unwrap()));
    assert_eq!(
        (&decided["state"], &decided["decided_by"]),
        (&json!("approved"), &json!("operator:owner"))
    );
    let trail = daemon.get("/admin/v1/events?action=approval.");
    assert_eq!(trail["items"].as_array().unwrap().len(), 1, "{trail}");
    let said = daemon.get(&format!("/admin/v1/sessions/{session}/messages"));
    let said = said["items"].as_array().unwrap();
    assert_eq!(
        (&said[1]["role"], &said[1]["text"]),
        (&json!("user"), &json!("write notes.txt: buy milk"))
    );
    assert_eq!((&said[0]["role"], said.len()), (&json!("agent"), 2));
}

#[test]
fn a_no_is_told_and_nothing_is_done() {
    let daemon = Daemon::start();
    let run = daemon.say(&daemon.begin(), "write notes.txt: buy milk");
    daemon.until_run(&run, "waiting_for_approval");
    assert_eq!(daemon.decide(&daemon.question(), "deny").status, 200);
    daemon.until_run(&run, "completed");
    assert!(daemon.answer_of(&run).contains("a human said no"), "{}", daemon.answer_of(&run));
    assert!(!daemon.data_dir().join("workspaces/default/notes.txt").exists());
}

#[test]
fn of_those_who_decide_at_once_one_wins() {
    let daemon = Daemon::start();
    let run = daemon.say(&daemon.begin(), "write notes.txt: buy milk");
    daemon.until_run(&run, "waiting_for_approval");
    let question = daemon.question();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|n| {
                let (daemon, question) = (&daemon, &question);
                let verdict = if n % 2 == 0 { "approve" } else { "deny" };
                scope.spawn(move || daemon.decide(question, verdict).status)
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
    daemon.until_run(&run, "completed");
}

#[test]
fn a_stream_is_resumed_without_a_gap_and_nothing_twice() {
    let daemon = Daemon::start();
    let run = daemon.say(&daemon.begin(), "write notes.txt: buy milk");
    let path = format!("/admin/v1/runs/{run}/events");
    let mut stream = daemon.stream(&path, None);
    let mut seen = vec![next(&mut stream).unwrap(), next(&mut stream).unwrap()];
    drop(stream);
    let mut stream = daemon.stream(&path, Some(seen.last().unwrap().0));
    seen.push(next(&mut stream).unwrap());
    drop(stream);
    daemon.until_run(&run, "waiting_for_approval");
    // By now there is more than was seen.
    let mut stream = daemon.stream(&path, Some(seen.last().unwrap().0));
    assert_eq!(daemon.decide(&daemon.question(), "approve").status, 200);
    while let Some(event) = next(&mut stream) {
        seen.push(event);
    }
    let tape = daemon.get(&format!("/admin/v1/runs/{run}/tape"));
    let tape: Vec<(i64, String)> = tape["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["seq"].as_i64().unwrap(), entry["kind"].as_str().unwrap().to_owned()))
        .collect();
    // Pieces of an answer are taken away once it is there as a whole.
    let whole = |events: &[(i64, String)]| -> Vec<(i64, String)> {
        events.iter().filter(|(_, kind)| kind != "model.delta").cloned().collect()
    };
    assert_eq!(whole(&seen), whole(&tape));
}

#[test]
fn the_feed_tells_of_questions_and_ends_with_the_daemon() {
    let mut daemon = Daemon::start();
    let mut feed = daemon.stream("/console/v1/events", None);
    let run = daemon.say(&daemon.begin(), "write notes.txt: buy milk");
    daemon.until_run(&run, "waiting_for_approval");
    // The connector may start only now.
    let about_questions = |feed: &mut _| {
        let mut events = std::iter::from_fn(|| next(feed));
        events.find(|(_, kind)| !kind.starts_with("connector.")).unwrap()
    };
    let (seq, kind) = about_questions(&mut feed);
    assert_eq!(kind, "approval.requested");
    assert_eq!(daemon.decide(&daemon.question(), "deny").status, 200);
    assert_eq!(about_questions(&mut feed).1, "approval.decided");
    let mut again = daemon.stream("/console/v1/events", Some(seq));
    assert_eq!(about_questions(&mut again).1, "approval.decided");
    let began = Instant::now();
    daemon.process.terminate(LIMIT).unwrap();
    assert_eq!(next(&mut feed), None);
    assert!(began.elapsed() < std::time::Duration::from_secs(9), "the streams held the stop up");
}

#[test]
fn agents_are_made_changed_by_version_and_removed() {
    let daemon = Daemon::start();
    let new = json!({ "id": "helper", "spec": { "name": "Helper", "instructions": "Help." } });
    let made = daemon.ask("POST", "/admin/v1/agents", &new);
    assert_eq!((made.status, &made.json()["version"]), (201, &json!(1)), "{made:?}");
    assert_eq!(daemon.ask("POST", "/admin/v1/agents", &new).status, 409);
    let path = "/admin/v1/agents/helper";
    let change = json!({ "spec": { "name": "Helper 2" }, "version": 1 });
    assert_eq!(daemon.ask("PUT", path, &change).json()["version"], 2);
    assert_eq!(daemon.ask("PUT", path, &change).status, 409, "it has changed since");
    let agents = daemon.get("/admin/v1/agents");
    let ids: Vec<_> =
        agents["items"].as_array().unwrap().iter().map(|agent| &agent["id"]).collect();
    assert_eq!(ids, ["default", "helper"]);
    assert_eq!(daemon.ask("DELETE", path, &Value::Null).status, 204);
    assert_eq!(daemon.ask("GET", path, &Value::Null).status, 404);
    assert_eq!(daemon.ask("DELETE", "/admin/v1/agents/default", &Value::Null).status, 400);
}

#[test]
fn a_test_of_a_model_is_not_said_to_be_made_again() {
    // Whoever comes is told that there is too much to do.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let config = format!(
        "[models.providers.full]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\n\
         [models.entries.full]\nprovider = \"full\"\nmodel = \"x\"\n"
    );
    let (daemon, _folder) = Daemon::with_config(&config);
    for (head, advice) in [
        ("429 Too Many Requests\r\nRetry-After: 7", ": Try again in 7s. If it lasts, "),
        ("500 Internal Server Error", ": Try again later. If it lasts, "),
    ] {
        let answer = format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        std::thread::scope(|scope| {
            scope.spawn(|| answer_once(&server, &answer));
            let tested = daemon.ask("POST", "/admin/v1/models/full/test", &Value::Null).json();
            let error = tested["error"].as_str().unwrap_or_default().to_owned();
            assert!(error.contains(advice) && !error.contains("again when"), "{tested}");
        });
    }
}

fn answer_once(server: &std::net::TcpListener, answer: &str) {
    use std::io::{BufRead, BufReader, Read, Write};
    let (mut stream, _) = server.accept().unwrap();
    let mut asked = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while asked.read_line(&mut line).unwrap() > 2 {
        if let Some(found) = line.to_lowercase().strip_prefix("content-length: ") {
            length = found.trim().parse().unwrap();
        }
        line.clear();
    }
    asked.read_exact(&mut vec![0; length]).unwrap();
    stream.write_all(answer.as_bytes()).unwrap();
}

#[test]
fn what_is_said_twice_under_one_key_is_said_once() {
    let daemon = Daemon::start();
    let session = daemon.begin();
    let (_, secret) = daemon.token(&["sessions:read", "sessions:write"]);
    let path = format!("/admin/v1/sessions/{session}/messages");
    let headers = [
        format!("Authorization: Bearer {secret}"),
        "Content-Type: application/json".to_owned(),
        "Idempotency-Key: once".to_owned(),
    ];
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let body = json!({ "text": "hello" }).to_string();
    let first = daemon.tcp("POST", &path, &headers, &body).json();
    assert_eq!(daemon.tcp("POST", &path, &headers, &body).json(), first);
    let runs = daemon.get(&format!("/admin/v1/runs?session={session}"));
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");
    let tested = daemon.ask("POST", "/admin/v1/models/offline/test", &Value::Null).json();
    assert_eq!((&tested["ok"], &tested["cost_micros"]), (&json!(true), &json!(0)), "{tested}");
    assert_eq!(daemon.get("/admin/v1/models")["items"][0]["name"], "offline");
}

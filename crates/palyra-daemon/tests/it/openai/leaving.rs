//! Clients that go, and daemons that die, in the middle of an answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use palyra_testkit::model_sim::{Fault, Gate, Reply, echo};
use serde_json::{Value, json};

use super::{COMPLETIONS, Facade, says, with};
use crate::daemon::{Daemon, LIMIT, palyrad, parse};

impl Facade {
    /// Asks, and does not wait for the answer.
    fn begin(&self, headers: &str, request: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.daemon.http).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (host, body) = (self.daemon.http, request.to_string());
        write!(
            stream,
            "POST {COMPLETIONS} HTTP/1.1\r\nHost: {host}\r\n{}\r\nConnection: close\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.bearer,
            body.len()
        )
        .unwrap();
        stream
    }

    /// The one run that there is.
    fn only_run(&self) -> String {
        let runs = self.daemon.get("/admin/v1/runs");
        let runs = runs["items"].as_array().unwrap();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0]["id"].as_str().unwrap().to_owned()
    }

    /// A model that says nothing yet.
    fn shut(&self) -> Gate {
        let gate = Gate::shut();
        let shut = gate.clone();
        self.sim.rule(move |asked| echo(asked).with(Fault::Gated(shut.clone())));
        gate
    }
}

#[test]
fn a_client_that_goes_stops_its_run() {
    for streams in [false, true] {
        let facade = Facade::start();
        let _gate = facade.shut();
        let stream = facade.begin("", &with(says("hello"), "stream", json!(streams)));
        facade.sim.wait_for_asked(1, LIMIT).unwrap();
        drop(stream);
        facade.sim.wait_for_left(1, LIMIT).unwrap();
        let run = facade.only_run();
        let ended = facade.daemon.until_run(&run, "aborted");
        assert_eq!(ended["end"], "stopped", "{ended}");
        facade.replays(&run);
    }
}

/// What goes wrong once there is a run may pass by itself; the same request would be another run all the
/// same, unless it has a key.
#[test]
fn nobody_is_told_to_ask_again_once_there_is_a_run() {
    let facade = Facade::with_http("max_requests_per_principal = 1\n");
    let _gate = facade.shut();
    let request = with(says("hello"), "stream", json!(true));
    let mut stream = BufReader::new(facade.begin("", &request));
    let mut head = String::new();
    stream.read_line(&mut head).unwrap();
    assert!(head.contains("200"), "{head}");
    for (headers, again) in [(&[][..], "false"), (&["Idempotency-Key: k"][..], "true")] {
        let refused = facade.ask(headers, &request);
        assert_eq!(super::error(&refused), (429, "http/busy".to_owned()));
        assert_eq!(refused.header("x-should-retry"), Some(again), "{refused:?}");
        assert_eq!(refused.header("retry-after").is_some(), again == "true", "{refused:?}");
    }
}

#[test]
fn whoever_comes_back_with_its_key_gets_the_answer() {
    let facade = Facade::start();
    let gate = facade.shut();
    let request = with(says("hello"), "stream", json!(true));
    let stream = facade.begin("Idempotency-Key: k\r\n", &request);
    facade.sim.wait_for_asked(1, LIMIT).unwrap();
    drop(stream);
    gate.let_through(1_000);
    let run = facade.only_run();
    facade.daemon.until_run(&run, "completed");
    let again = facade.ask(&["Idempotency-Key: k"], &request);
    assert!(again.body.ends_with("data: [DONE]\n\n"), "{again:?}");
    assert_eq!((again.header("x-palyra-run"), facade.sim.asked().len()), (Some(run.as_str()), 1));
}

/// The time for a request is over long before the model speaks.
#[test]
fn a_slow_model_is_waited_for() {
    let facade = Facade::start();
    for streams in [false, true] {
        let gate = facade.shut();
        let asked = facade.sim.asked().len();
        let mut stream = facade.begin("", &with(says("hello"), "stream", json!(streams)));
        facade.sim.wait_for_asked(asked + 1, LIMIT).unwrap();
        std::thread::sleep(Duration::from_millis(1_200));
        gate.let_through(1_000);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let answer = parse(&answer);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body.matches("hello").count(), 1, "{answer:?}");
    }
}

#[test]
fn what_streams_is_what_the_tape_says() {
    let facade = Facade::start();
    let words: String = (0..40).map(|n| format!("word{n} ")).collect();
    let said = words.clone();
    let pace = Duration::from_millis(10);
    facade.sim.rule(move |_| Reply::text(said.clone()).with(Fault::Paced(pace)));
    let answer = facade.ask(&[], &with(says("talk"), "stream", json!(true)));
    let pieces = super::pieces(&answer);
    let told: String = pieces
        .iter()
        .filter_map(|piece| piece["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(told, words);
    assert!(pieces.len() > 3, "it came at once: {pieces:?}");
    let run = super::run(&answer);
    assert_eq!(facade.daemon.answer_of(&run), words);
    facade.replays(&run);
}

/// No client takes half an answer for a whole one.
#[test]
fn a_stream_that_the_daemon_ends_says_so() {
    let mut facade = Facade::start();
    let _gate = facade.shut();
    let mut stream = facade.begin("", &with(says("hello"), "stream", json!(true)));
    facade.sim.wait_for_asked(1, LIMIT).unwrap();
    facade.daemon.process.terminate(LIMIT).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let pieces = super::pieces(&parse(&answer));
    assert_eq!(pieces.last().unwrap()["error"]["code"], "chat/cut_off", "{pieces:?}");
    assert!(!answer.contains("[DONE]"), "{answer}");
}

/// Killed in the middle of an answer: the connection breaks, and after the next start the run has one end.
#[test]
fn a_kill_in_the_middle_of_an_answer_is_told_and_nothing_is_doubled() {
    for streams in [false, true] {
        let mut facade = Facade::start();
        let gate = facade.shut();
        let request = with(says("hello"), "stream", json!(streams));
        let stream = facade.begin("Idempotency-Key: k\r\n", &request);
        facade.sim.wait_for_asked(1, LIMIT).unwrap();
        let mut stream = BufReader::new(stream);
        if streams {
            let mut head = String::new();
            stream.read_line(&mut head).unwrap();
            assert!(head.contains("200"), "{head}");
        }
        facade.daemon.process.kill_dash_nine().unwrap();
        let mut rest = String::new();
        // Reset, or closed before its end: either way no client takes it for an answer.
        let _ = stream.read_to_string(&mut rest);
        assert!(!rest.contains("[DONE]") && !rest.ends_with("0\r\n\r\n"), "{rest}");
        drop(gate);
        facade.sim.rule(echo);
        facade.daemon = Daemon::of(palyrad().data_dir(facade.folder.path()));
        let run = facade.only_run();
        facade.daemon.until_run(&run, "completed");
        facade.replays(&run);
        let again = facade.ask(&["Idempotency-Key: k"], &request);
        assert_eq!(again.status, 200, "{again:?}");
        assert_eq!(again.body.matches("hello").count(), 1, "{again:?}");
        assert_eq!(facade.only_run(), run);
    }
}

//! Runs that are begun, followed and steered over one stream.

use std::time::Duration;

use palyra_testkit::fs::private_tempdir;
use palyra_testkit::process::Termination;
use serde_json::json;
use tonic::Code;

use crate::daemon::{Daemon, LIMIT, palyrad};
use crate::gateway::proto::request_answered::Outcome;
use crate::gateway::proto::run_stream_request::Request as Asks;
use crate::gateway::proto::run_stream_response::Event;
use crate::gateway::proto::{ApprovalVerdict, AttachRun, DecideApprovalRequest, StartRun, StopRun};
use crate::gateway::{ALL, Talk, assert_refused, client_on, input, tape, trailer, whole};

const RISKY: &str = "write notes.txt: buy milk";

fn decide(approval: &str, verdict: ApprovalVerdict, digest: Option<&str>) -> Asks {
    Asks::Decide(DecideApprovalRequest {
        approval_id: approval.to_owned(),
        verdict: verdict.into(),
        reason: None,
        payload_sha256: digest.map(ToOwned::to_owned),
    })
}

fn error(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Error(error) => {
            assert!(!error.message.is_empty() && !error.recovery_hint.is_empty(), "{error:?}");
            &error.code
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_is_begun_and_followed_to_its_end() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let mut talk = Talk::start(&mut client, "what time is it").await;
    let attached = talk.attached().await;
    let (seen, over) = talk.until_over().await;
    assert_eq!(over.run_id, attached.run_id);
    let tape = tape(&daemon, &attached.run_id);
    assert_eq!(over.last_seq, tape.last().unwrap().seq);
    assert_eq!(whole(seen), tape);
    assert_eq!(tape.last().unwrap().kind, "run.finished");
    let session = daemon.get(&format!("/admin/v1/sessions/{}", attached.session_id));
    assert_eq!((&session["surface"], &session["agent"]), (&json!("api"), &json!("default")));

    let mut again = Talk::attach(&mut client, &attached.run_id, tape[1].seq).await;
    assert_eq!(again.attached().await.after_seq, tape[1].seq);
    assert_eq!(whole(again.until_over().await.0), tape[2..]);
}

#[tokio::test]
async fn a_stream_ends_once_its_client_says_no_more() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let start = StartRun { text: "hello".to_owned(), ..Default::default() };
    let first = crate::gateway::proto::RunStreamRequest {
        request_id: String::new(),
        request: Some(Asks::Start(start)),
    };
    let told = client.run_stream(futures_util::stream::iter([first])).await.unwrap();
    let mut told = told.into_inner();
    let mut last = None;
    while let Some(next) = told.message().await.unwrap() {
        last = next.event;
    }
    assert!(matches!(last, Some(Event::Over(_))), "{last:?}");
}

#[tokio::test]
async fn a_question_is_decided_on_the_stream_and_more_is_said() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let mut talk = Talk::start(&mut client, RISKY).await;
    let first = talk.attached().await;
    let asked = talk.until("approval.requested").await.pop().unwrap();
    let approval = asked.payload["approval"].as_str().unwrap();
    let file = daemon.data_dir().join("workspaces/default/notes.txt");

    let other = "0".repeat(64);
    talk.ask("other", decide(approval, ApprovalVerdict::Approve, Some(&other))).await;
    assert_eq!(error(&talk.answer("other").await.1), "common/conflict");
    talk.ask("what", decide(approval, ApprovalVerdict::Unspecified, None)).await;
    assert_eq!(error(&talk.answer("what").await.1), "common/invalid_input");
    assert!(!file.exists());
    // What is said meanwhile waits for its turn, and is followed then.
    talk.ask("more", input("what time is it")).await;
    let Outcome::RunId(next) = talk.answer("more").await.1 else { panic!("no run") };
    talk.ask("yes", decide(approval, ApprovalVerdict::Approve, None)).await;
    let Outcome::Approval(decided) = talk.answer("yes").await.1 else { panic!("not decided") };
    assert_eq!(
        (&*decided.state, decided.decided_by.as_deref()),
        ("approved", Some("operator:owner"))
    );
    talk.until_over().await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "buy milk");
    let second = talk.attached().await;
    assert_eq!((&second.run_id, &second.session_id), (&next, &first.session_id));
    assert_ne!(second.run_id, first.run_id);
    assert_eq!(whole(talk.until_over().await.0), tape(&daemon, &next));

    // Once all is told, it goes on with what is said next.
    talk.ask("last", input(RISKY)).await;
    let Outcome::RunId(last) = talk.answer("last").await.1 else { panic!("no run") };
    assert_eq!(talk.attached().await.run_id, last);
    talk.until("approval.requested").await;
    talk.ask("stop", Asks::Abort(StopRun { run_id: String::new() })).await;
    let (seen, _) = talk.until_over().await;
    let finished = seen.iter().find(|entry| entry.kind == "run.finished").unwrap();
    assert_eq!(finished.payload["phase"], "aborted");
    let trail = daemon.get("/admin/v1/events?action=run.aborted");
    let origin = trail["items"][0]["origin"].as_str().unwrap().to_owned();
    assert!(origin.starts_with("grpc:127.0.0.1"), "{trail}");
}

#[tokio::test]
async fn what_cannot_be_done_is_answered_and_the_stream_goes_on() {
    let daemon = Daemon::start();
    let (_, secret) = daemon.token(&["sessions:read", "sessions:write"]);
    let mut client = daemon.client_with(&secret).await;
    let mut talk = Talk::start(&mut client, RISKY).await;
    let run = talk.attached().await.run_id;
    let asked = talk.until("approval.requested").await.pop().unwrap();
    let approval = asked.payload["approval"].as_str().unwrap();
    let nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    let again = StartRun { text: "x".to_owned(), ..Default::default() };
    for (what, code) in [
        (decide(approval, ApprovalVerdict::Approve, None), "auth/forbidden"),
        (Asks::Abort(StopRun { run_id: nobody }), "common/not_found"),
        (Asks::Abort(StopRun { run_id: "x".to_owned() }), "common/invalid_input"),
        (Asks::Start(again), "common/invalid_input"),
        (input(" "), "common/invalid_input"),
        (input(&"x".repeat((256 << 10) + 1)), "common/invalid_input"),
    ] {
        talk.ask("it", what).await;
        assert_eq!(error(&talk.answer("it").await.1), code);
    }
    talk.ask(&"x".repeat(129), input("x")).await;
    assert_eq!(error(&talk.answer("").await.1), "common/invalid_input");
    talk.ask("stop", Asks::Abort(StopRun { run_id: run })).await;
    talk.until_over().await;
}

#[tokio::test]
async fn what_is_begun_twice_under_one_key_is_begun_once() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let begin = |text: &str| StartRun {
        text: text.to_owned(),
        title: "a talk".to_owned(),
        idempotency_key: Some("once".to_owned()),
        ..Default::default()
    };
    let mut first = Talk::open(&mut client, Asks::Start(begin("hello"))).await;
    let begun = first.attached().await;
    let (seen, _) = first.until_over().await;
    let mut again = Talk::open(&mut client, Asks::Start(begin("hello"))).await;
    assert_eq!(again.attached().await, begun);
    assert_eq!(whole(again.until_over().await.0), whole(seen));
    let mut other = Talk::open(&mut client, Asks::Start(begin("another"))).await;
    let (_, status) = other.until_broken().await;
    assert_refused(&status, Code::FailedPrecondition, "common/conflict");
    let runs = daemon.get("/admin/v1/runs");
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");
    let sessions = daemon.get("/admin/v1/sessions");
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions}");
}

#[tokio::test]
async fn what_is_wrong_with_the_beginning_ends_the_call() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let attach = |run: &str, after_seq| Asks::Attach(AttachRun { run_id: run.into(), after_seq });
    let start = |session: &str, agent: &str, text: &str| {
        let (session_id, agent, text) = (session.into(), agent.into(), text.into());
        Asks::Start(StartRun { session_id, agent, text, ..Default::default() })
    };
    for (first, code, stable) in [
        (attach(nobody, 0), Code::NotFound, "common/not_found"),
        (attach("x", 0), Code::InvalidArgument, "common/invalid_input"),
        (attach(nobody, -1), Code::InvalidArgument, "common/invalid_input"),
        (start(nobody, "", "x"), Code::NotFound, "common/not_found"),
        (start(nobody, "default", "x"), Code::InvalidArgument, "common/invalid_input"),
        (start("", "nobody", "x"), Code::NotFound, "common/not_found"),
        (start("", "", ""), Code::InvalidArgument, "common/invalid_input"),
        (
            start("", "", &"x".repeat((256 << 10) + 1)),
            Code::InvalidArgument,
            "common/invalid_input",
        ),
        (input("x"), Code::InvalidArgument, "common/invalid_input"),
    ] {
        let (told, status) = Talk::open(&mut client, first).await.until_broken().await;
        assert!(told.is_empty());
        assert_refused(&status, code, stable);
    }
    let left = daemon.get("/admin/v1/sessions");
    assert_eq!(left["items"], json!([]), "a conversation was begun in which nothing was said");
    let (_, reader) = daemon.token(&["sessions:read"]);
    let mut reader = daemon.client_with(&reader).await;
    let (_, status) = Talk::start(&mut reader, "hello").await.until_broken().await;
    assert_refused(&status, Code::PermissionDenied, "auth/forbidden");
    assert_eq!(daemon.get("/admin/v1/runs")["items"], json!([]));
}

/// Killed twice while somebody follows, who says where to go on, and decides in between.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_misses_nothing_through_crashes() {
    let folder = private_tempdir().unwrap();
    let start = || Daemon::of(palyrad().data_dir(folder.path()));
    let mut daemon = start();
    let (_, secret) = daemon.token(&ALL);
    let mut talk = Talk::start(&mut daemon.client_with(&secret).await, RISKY).await;
    let run = talk.attached().await.run_id;
    let mut seen = vec![talk.entry().await, talk.entry().await];
    for round in 0..2 {
        daemon.process.kill_dash_nine().unwrap();
        // What was on its way.
        let (rest, _) = talk.until_broken().await;
        seen.extend(rest);
        daemon = start();
        let mut client = daemon.client_with(&secret).await;
        talk = Talk::attach(&mut client, &run, seen.last().unwrap().seq).await;
        talk.attached().await;
        if round == 0 {
            let question = daemon.question();
            let approval = question["id"].as_str().unwrap();
            talk.ask("yes", decide(approval, ApprovalVerdict::Approve, None)).await;
            let (told, decided) = talk.answer("yes").await;
            assert!(matches!(decided, Outcome::Approval(_)), "{decided:?}");
            seen.extend(told);
        }
    }
    // A worker that died in the middle of the change leaves it to a human.
    daemon.until(&format!("/admin/v1/runs/{run}"), |run| {
        run["phase"] == "completed" || run["phase"] == "waiting_for_approval"
    });
    if daemon.get(&format!("/admin/v1/runs/{run}"))["phase"] == "waiting_for_approval" {
        assert_eq!(daemon.decide(&daemon.question(), "deny").status, 200);
    }
    seen.extend(talk.until_over().await.0);
    assert!(seen.is_sorted_by(|one, next| one.seq < next.seq), "repeated: {seen:#?}");
    assert_eq!(whole(seen), tape(&daemon, &run));
}

/// As much as does not fit into what the client takes without reading it.
#[tokio::test]
async fn a_slow_reader_is_cut_off_and_told_where_to_go_on() {
    let (daemon, _folder) = Daemon::with_config("[http]\nrequest_timeout = \"2s\"\n");
    let (_, secret) = daemon.token(&ALL);
    let slow = daemon.endpoint().initial_stream_window_size(4 << 10).connect().await.unwrap();
    let mut slow = client_on(slow, &secret);
    let text = format!("{RISKY} {}", "and bread ".repeat(4_000));
    let mut talk = Talk::start(&mut slow, &text).await;
    let run = talk.attached().await.run_id;
    // Nothing is read for longer than is allowed.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let (mut seen, status) = talk.until_broken().await;
    assert_refused(&status, Code::ResourceExhausted, "stream/slow_reader");
    let last = seen.last().unwrap().seq;
    assert_eq!(trailer(&status, "palyra-run-id"), run);
    assert_eq!(trailer(&status, "palyra-last-seq"), last.to_string());
    assert!(status.message().contains(&format!("after entry {last}")), "{status:?}");

    let mut again = Talk::attach(&mut daemon.client_with(&secret).await, &run, last).await;
    again.attached().await;
    seen.extend(again.until("approval.requested").await);
    let asked = seen.last().unwrap().payload["approval"].as_str().unwrap().to_owned();
    again.ask("no", decide(&asked, ApprovalVerdict::Deny, None)).await;
    seen.extend(again.until_over().await.0);
    assert_eq!(whole(seen), tape(&daemon, &run));
}

/// One that never reads again does not keep its place.
#[tokio::test]
async fn whoever_never_reads_loses_the_connection() {
    let config = "[http]\nrequest_timeout = \"1s\"\nmax_requests_per_principal = 1\n\
                  requests_per_second = 0\n[grpc]\nmax_connection_age = \"1s\"\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let (_, secret) = daemon.token(&ALL);
    let slow = daemon.endpoint().initial_stream_window_size(4 << 10).connect().await.unwrap();
    let text = format!("{RISKY} {}", "and bread ".repeat(4_000));
    let mut stuck = Talk::start(&mut client_on(slow, &secret), &text).await;
    let run = stuck.attached().await.run_id;
    let deadline = std::time::Instant::now() + LIMIT;
    loop {
        assert!(std::time::Instant::now() < deadline, "the place is never free");
        let mut talk = Talk::attach(&mut daemon.client_with(&secret).await, &run, 0).await;
        match talk.try_next().await {
            Ok(Some(Event::Attached(_))) => break,
            Ok(other) => panic!("{other:?}"),
            Err(status) => assert_refused(&status, Code::ResourceExhausted, "http/busy"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (_, status) = stuck.until_broken().await;
    assert!(status.metadata().get("palyra-last-seq").is_none(), "{status:?}");
}

/// A connection takes no new calls after its age; what is followed on it goes on.
#[tokio::test]
async fn a_stream_outlasts_the_age_of_its_connection() {
    let config = "[http]\nrequest_timeout = \"1s\"\n[grpc]\nmax_connection_age = \"1s\"\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let mut client = daemon.client().await;
    let mut talk = Talk::start(&mut client, RISKY).await;
    talk.attached().await;
    talk.until("approval.requested").await;
    // As long as any other call on that connection could last.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(daemon.decide(&daemon.question(), "deny").status, 200);
    let (seen, _) = talk.until_over().await;
    assert_eq!(seen.last().unwrap().kind, "run.finished");
}

#[tokio::test]
async fn a_credential_that_is_revoked_ends_its_streams() {
    let daemon = Daemon::start();
    let (id, secret) = daemon.token(&ALL);
    let mut talk = Talk::start(&mut daemon.client_with(&secret).await, RISKY).await;
    let run = talk.attached().await.run_id;
    let last = talk.until("approval.requested").await.pop().unwrap();
    let revoked = daemon.local("DELETE", &format!("/admin/v1/tokens/{id}"), "");
    assert_eq!(revoked.status, 200, "{revoked:?}");
    let (rest, status) = talk.until_broken().await;
    assert_refused(&status, Code::Unauthenticated, "auth/revoked");
    let last = rest.last().unwrap_or(&last).seq;
    assert_eq!(trailer(&status, "palyra-last-seq"), last.to_string());
    assert_eq!(trailer(&status, "palyra-run-id"), run);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_is_told_of_the_stop() {
    let (mut daemon, _folder) = Daemon::with_config("[http]\ndrain_timeout = \"10m\"\n");
    let mut client = daemon.client().await;
    let mut talk = Talk::start(&mut client, RISKY).await;
    talk.attached().await;
    let last = talk.until("approval.requested").await.pop().unwrap();
    let ended = tokio::task::block_in_place(|| daemon.process.terminate(LIMIT).unwrap());
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
    let (rest, status) = talk.until_broken().await;
    assert_refused(&status, Code::Unavailable, "storage/shutting_down");
    let last = rest.last().unwrap_or(&last).seq;
    assert_eq!(trailer(&status, "palyra-last-seq"), last.to_string());
}

#[tokio::test]
async fn one_principal_has_only_so_many_streams() {
    let config = "[http]\nmax_requests_per_principal = 1\nrequests_per_second = 0\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let mut client = daemon.client().await;
    let mut talk = Talk::start(&mut client, RISKY).await;
    let run = talk.attached().await.run_id;
    let (_, status) = Talk::attach(&mut client, &run, 0).await.until_broken().await;
    assert_refused(&status, Code::ResourceExhausted, "http/busy");
    // Whoever only reads has no place of those who ask.
    let request = crate::gateway::proto::GetRunRequest { run_id: run.clone() };
    assert_eq!(client.get_run(request).await.unwrap().into_inner().run.unwrap().id, run);
}

/// A client that opens a stream and says nothing.
#[tokio::test]
async fn whoever_begins_nothing_is_let_go() {
    let (daemon, _folder) = Daemon::with_config("[http]\nrequest_timeout = \"500ms\"\n");
    let mut client = daemon.client().await;
    let told = client.run_stream(futures_util::stream::pending()).await.unwrap();
    let next = tokio::time::timeout(LIMIT, told.into_inner().message()).await.unwrap();
    assert_refused(&next.unwrap_err(), Code::DeadlineExceeded, "http/slow");
}

//! The calls of `palyra.gateway.v1` that are answered once.

use tonic::Code;

use crate::daemon::Daemon;
use crate::gateway::proto::*;
use crate::gateway::{Client, Talk, assert_refused};

const NOBODY: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const RISKY: &str = "write notes.txt: buy milk";

async fn list_runs(client: &mut Client, request: ListRunsRequest) -> ListRunsResponse {
    client.list_runs(request).await.unwrap().into_inner()
}

#[tokio::test]
async fn conversations_and_runs_are_listed_page_by_page() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let mut runs = Vec::new();
    for text in ["hello", "what time is it", RISKY] {
        let mut talk = Talk::start(&mut client, text).await;
        runs.insert(0, talk.attached().await);
        match text {
            RISKY => drop(talk.until("approval.requested").await),
            _ => drop(talk.until_over().await),
        }
    }
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let request = ListRunsRequest { cursor, page_size: 2, ..Default::default() };
        let page = list_runs(&mut client, request).await;
        assert!(page.runs.len() <= 2);
        listed.extend(page.runs);
        cursor = page.next_cursor;
        if cursor.is_empty() {
            break;
        }
    }
    let ids: Vec<_> = listed.iter().map(|run| &run.id).collect();
    assert_eq!(ids, runs.iter().map(|run| &run.run_id).collect::<Vec<_>>());
    let waiting =
        ListRunsRequest { phase: "waiting_for_approval".to_owned(), ..Default::default() };
    assert_eq!(list_runs(&mut client, waiting).await.runs, listed[..1]);
    let session_id = runs[2].session_id.clone();
    let of_session = ListRunsRequest { session_id: session_id.clone(), ..Default::default() };
    assert_eq!(list_runs(&mut client, of_session).await.runs, listed[2..]);

    let request = ListSessionsRequest { page_size: 2, ..Default::default() };
    let first = client.list_sessions(request).await.unwrap().into_inner();
    let request = ListSessionsRequest { cursor: first.next_cursor, page_size: 2 };
    let second = client.list_sessions(request).await.unwrap().into_inner();
    let all: Vec<_> = first.sessions.into_iter().chain(second.sessions).collect();
    assert_eq!((all.len(), second.next_cursor.as_str()), (3, ""));
    let one = client.get_session(GetSessionRequest { session_id: session_id.clone() }).await;
    let one = one.unwrap().into_inner().session.unwrap();
    assert_eq!(one.agent, "default");
    assert!(all.contains(&one), "{all:?}");
}

#[tokio::test]
async fn a_run_is_looked_at_and_stopped_and_a_question_decided() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let mut talk = Talk::start(&mut client, RISKY).await;
    let run_id = talk.attached().await.run_id;
    talk.until("approval.requested").await;
    daemon.until_run(&run_id, "waiting_for_approval");
    let pending = ListApprovalsRequest { state: "pending".to_owned(), ..Default::default() };
    let asked = client.list_approvals(pending).await.unwrap().into_inner().approvals;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].asker.as_ref().unwrap().run_id, run_id);
    assert!(asked[0].payload.contains("buy milk"), "{asked:?}");
    let decide = DecideApprovalRequest {
        approval_id: asked[0].id.clone(),
        verdict: ApprovalVerdict::Deny.into(),
        reason: Some("not now".to_owned()),
        payload_sha256: Some(asked[0].payload_sha256.clone()),
    };
    let decided = client.decide_approval(decide.clone()).await.unwrap().into_inner();
    let decided = decided.approval.unwrap();
    assert_eq!((&*decided.state, decided.reason.as_deref()), ("denied", Some("not now")));
    let again = client.decide_approval(decide).await.unwrap_err();
    assert_refused(&again, Code::FailedPrecondition, "common/conflict");
    talk.until_over().await;
    let run = client.get_run(GetRunRequest { run_id: run_id.clone() }).await.unwrap();
    let run = run.into_inner().run.unwrap();
    assert_eq!((&*run.phase, run.end.as_deref()), ("completed", Some("answered")));

    let over = client.abort_run(AbortRunRequest { run_id }).await.unwrap_err();
    assert_refused(&over, Code::FailedPrecondition, "common/conflict");
    let mut talk = Talk::start(&mut client, RISKY).await;
    let run_id = talk.attached().await.run_id;
    talk.until("approval.requested").await;
    daemon.until_run(&run_id, "waiting_for_approval");
    let stopped = client.abort_run(AbortRunRequest { run_id }).await.unwrap().into_inner();
    assert_eq!(stopped.run.unwrap().phase, "aborted");
}

fn message(name: &str, text: &str) -> RouteMessageRequest {
    RouteMessageRequest {
        channel: "echo:default".to_owned(),
        message: name.to_owned(),
        conversation: "general".to_owned(),
        sender: "bob".to_owned(),
        text: text.to_owned(),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_message_is_handed_in_once_and_answered() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let first = client.route_message(message("m-1", "hello")).await.unwrap().into_inner();
    assert!(first.routed && !first.replayed && !first.reason.is_empty(), "{first:?}");
    let again = client.route_message(message("m-1", "hello")).await.unwrap().into_inner();
    assert_eq!(again, RouteMessageResponse { replayed: true, ..first.clone() });
    let mut talk = Talk::attach(&mut client, &first.run_id, 0).await;
    assert_eq!(talk.attached().await.session_id, first.session_id);
    let (seen, _) = talk.until_over().await;
    let input = seen.iter().find(|entry| entry.kind == "input.message").unwrap();
    assert_eq!(input.payload["sender"], "operator:owner/bob");
    assert_eq!(input.payload["trust"], "untrusted");
    assert_eq!(seen.last().unwrap().kind, "delivery.settled");
    assert_eq!(seen.last().unwrap().payload["envelope"], first.reply);
    let runs = list_runs(&mut client, ListRunsRequest::default()).await;
    assert_eq!(runs.runs.len(), 1);

    for (wrong, code, stable) in [
        (
            RouteMessageRequest { channel: "echo:nobody".to_owned(), ..message("m", "x") },
            Code::NotFound,
            "common/not_found",
        ),
        (message("", "x"), Code::InvalidArgument, "common/invalid_input"),
        (message("m", " "), Code::InvalidArgument, "common/invalid_input"),
        (
            RouteMessageRequest { sender: "a b".to_owned(), ..message("m", "x") },
            Code::InvalidArgument,
            "common/invalid_input",
        ),
    ] {
        assert_refused(&client.route_message(wrong).await.unwrap_err(), code, stable);
    }
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_a_reason() {
    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let run = |id: &str| GetRunRequest { run_id: id.to_owned() };
    let invalid = (Code::InvalidArgument, "common/invalid_input");
    for (answer, (code, stable)) in [
        (client.get_run(run(NOBODY)).await.err(), (Code::NotFound, "common/not_found")),
        (client.get_run(run("")).await.err(), invalid),
        (client.get_run(run("x")).await.err(), invalid),
        (
            client.list_runs(ListRunsRequest { page_size: 201, ..Default::default() }).await.err(),
            (Code::InvalidArgument, "http/malformed"),
        ),
        (
            client
                .list_runs(ListRunsRequest { cursor: "x".to_owned(), ..Default::default() })
                .await
                .err(),
            invalid,
        ),
        (
            client
                .list_runs(ListRunsRequest { phase: "asleep".to_owned(), ..Default::default() })
                .await
                .err(),
            invalid,
        ),
        (
            client
                .list_sessions(ListSessionsRequest { cursor: "x".to_owned(), page_size: 0 })
                .await
                .err(),
            invalid,
        ),
        (
            client.get_run(run(&"x".repeat((1 << 20) + 1))).await.err(),
            (Code::OutOfRange, "http/too_large"),
        ),
    ] {
        assert_refused(&answer.unwrap(), code, stable);
    }
}

/// What a call without its scope is refused with.
async fn without(client: &mut Client, call: &str) -> tonic::Status {
    let (id, channel) = (NOBODY.to_owned(), message("m", "x"));
    let decide = DecideApprovalRequest {
        approval_id: id.clone(),
        verdict: ApprovalVerdict::Deny.into(),
        ..Default::default()
    };
    match call {
        "GetHealth" => client.get_health(GetHealthRequest {}).await.err(),
        "RouteMessage" => client.route_message(channel).await.err(),
        "ListSessions" => client.list_sessions(ListSessionsRequest::default()).await.err(),
        "GetSession" => client.get_session(GetSessionRequest { session_id: id }).await.err(),
        "ListRuns" => client.list_runs(ListRunsRequest::default()).await.err(),
        "GetRun" => client.get_run(GetRunRequest { run_id: id }).await.err(),
        "AbortRun" => client.abort_run(AbortRunRequest { run_id: id }).await.err(),
        "ListApprovals" => client.list_approvals(ListApprovalsRequest::default()).await.err(),
        "DecideApproval" => client.decide_approval(decide).await.err(),
        "RunStream" => Some(Talk::attach(client, NOBODY, 0).await.until_broken().await.1),
        other => panic!("{other}"),
    }
    .unwrap_or_else(|| panic!("{call} is answered"))
}

#[tokio::test]
async fn every_call_needs_its_scope() {
    let (daemon, _folder) = Daemon::with_config("[http]\nrequests_per_second = 0\n");
    for (call, scope) in [
        ("GetHealth", "status:read"),
        ("RouteMessage", "messages:send"),
        ("ListSessions", "sessions:read"),
        ("GetSession", "sessions:read"),
        ("ListRuns", "sessions:read"),
        ("GetRun", "sessions:read"),
        ("AbortRun", "sessions:write"),
        ("ListApprovals", "approvals:read"),
        ("DecideApproval", "approvals:decide"),
        ("RunStream", "sessions:read"),
    ] {
        let all = daemon.local("GET", "/admin/v1/whoami", "").json()["scopes"].clone();
        let all = all.as_array().unwrap().iter().filter_map(|scope| scope.as_str());
        let rest: Vec<_> = all.filter(|other| *other != scope).collect();
        let mut client = daemon.client_with(&daemon.token(&rest).1).await;
        let status = without(&mut client, call).await;
        assert_refused(&status, Code::PermissionDenied, "auth/forbidden");
        assert!(status.message().contains(scope), "{call}: {status:?}");
    }
}

fn command(command: &str, params_json: &str) -> DispatchAcpRequest {
    DispatchAcpRequest {
        v: 1,
        request_id: "r-1".to_owned(),
        command: command.to_owned(),
        params_json: params_json.to_owned(),
        idempotency_key: Some("k-1".to_owned()),
        expected_version: None,
    }
}

#[tokio::test]
async fn a_command_is_carried_out_once_over_either_door() {
    use dispatch_acp_response::Outcome;

    let daemon = Daemon::start();
    let mut client = daemon.client().await;
    let mut dispatch = async |command| client.dispatch_acp(command).await;
    let first = dispatch(command("session.new", r#"{"title": "a talk"}"#)).await;
    let first = first.unwrap().into_inner();
    assert_eq!(
        (&*first.request_id, &*first.command, first.replayed),
        ("r-1", "session.new", false)
    );
    let Some(Outcome::ResultJson(made)) = &first.outcome else { panic!("{first:?}") };
    let again = dispatch(command("session.new", r#"{"title": "a talk"}"#)).await;
    let again = again.unwrap().into_inner();
    assert_eq!(again, DispatchAcpResponse { replayed: true, ..first.clone() });
    let envelope = serde_json::json!({
        "v": 1, "request_id": "r-2", "command": "session.new", "params": { "title": "a talk" },
        "idempotency_key": "k-1"
    });
    let over_http = daemon.ask("POST", "/console/v1/acp", &envelope).json();
    let made: serde_json::Value = serde_json::from_str(made).unwrap();
    assert_eq!((&over_http["result"], &over_http["replayed"]), (&made, &true.into()));

    let other = dispatch(command("session.new", r#"{"title": "another"}"#)).await.unwrap();
    let Some(Outcome::Error(error)) = other.into_inner().outcome else { panic!("carried out") };
    assert_eq!((&*error.code, error.retryable), ("common/conflict", false));
    assert!(!error.message.is_empty() && !error.recovery_hint.is_empty(), "{error:?}");
    let nothing = dispatch(command("nothing.there", "")).await.unwrap().into_inner();
    assert!(matches!(nothing.outcome, Some(Outcome::Error(_))), "{nothing:?}");
    for wrong in [
        command("session.new", "{"),
        command("session.new", "[]"),
        DispatchAcpRequest { v: 2, ..command("session.new", "{}") },
        DispatchAcpRequest { request_id: String::new(), ..command("session.new", "{}") },
    ] {
        let refused = dispatch(wrong).await.unwrap_err();
        assert_refused(&refused, Code::InvalidArgument, "common/invalid_input");
    }
}

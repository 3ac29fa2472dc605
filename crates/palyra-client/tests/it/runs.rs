//! What is asked for agents, sessions, runs and approvals, as it goes over the wire.

use palyra_client::{Client, ClientError, RunQuery, RunWish};
use palyra_common::api::{ApprovalDecision, ApprovalVerdict, NewInput, SessionChange};
use palyra_common::data_dir::SOCKET;
use palyra_common::runtime_contracts::{ApprovalState, RunLifecyclePhase};
use palyra_testkit::fs::ScratchDir;
use tokio::net::UnixListener;

use crate::{answer, local};

const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// The head of the request that `call` makes; what it is answered with is nothing that it wants.
async fn head<T: std::fmt::Debug>(
    call: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
) -> String {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let answered = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull";
    let serve = async { answer(listener.accept().await.unwrap().0, answered).await };
    let client = local(folder.path());
    let (_, head) = tokio::join!(call(&client), serve);
    head
}

async fn line<T: std::fmt::Debug>(
    call: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
) -> String {
    let head = head(call).await;
    let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
    line.replace(ID, "ID").replace("/admin/v1", "")
}

#[tokio::test]
async fn each_call_asks_what_its_name_says() {
    let (session, run, approval) = (ID.parse().unwrap(), ID.parse().unwrap(), ID.parse().unwrap());
    let agent = "a".parse().unwrap();
    let named = SessionChange { title: "t".into() };
    let yes =
        ApprovalDecision { verdict: ApprovalVerdict::Approve, reason: None, payload_sha256: None };
    let query = RunQuery {
        session: Some(session),
        phase: Some(RunLifecyclePhase::WaitingForApproval),
        after: Some("x".into()),
    };
    let pending = Some(ApprovalState::Pending);
    let after = || Some("x".to_owned());
    let asked = [
        line(async |client| client.agents(after(), 7).await).await,
        line(async |client| client.agent(&agent).await).await,
        line(async |client| client.remove_agent(&agent).await).await,
        line(async |client| client.models().await).await,
        line(async |client| client.test_model("a/b").await).await,
        line(async |client| client.sessions(None, 7).await).await,
        line(async |client| client.rename_session(session, &named).await).await,
        line(async |client| client.archive_session(session).await).await,
        line(async |client| client.session_messages(session, after(), 7).await).await,
        line(async |client| client.runs(&query, 7).await).await,
        line(async |client| client.runs(&RunQuery::default(), 7).await).await,
        line(async |client| client.run(run).await).await,
        line(async |client| client.tape(run, after(), 7).await).await,
        line(async |client| client.wish(run, RunWish::Abort).await).await,
        line(async |client| client.wish(run, RunWish::Pause).await).await,
        line(async |client| client.wish(run, RunWish::Resume).await).await,
        line(async |client| client.approvals(pending, None, 7).await).await,
        line(async |client| client.approval(approval).await).await,
        line(async |client| client.decide(approval, &yes).await).await,
    ];
    let expected = [
        "GET /agents?limit=7&after=x",
        "GET /agents/a",
        "DELETE /agents/a",
        "GET /models",
        "POST /models/a%2Fb/test",
        "GET /sessions?limit=7",
        "PUT /sessions/ID",
        "DELETE /sessions/ID",
        "GET /sessions/ID/messages?limit=7&after=x",
        "GET /runs?limit=7&after=x&session=ID&phase=waiting_for_approval",
        "GET /runs?limit=7",
        "GET /runs/ID",
        "GET /runs/ID/tape?limit=7&after=x",
        "POST /runs/ID/abort",
        "POST /runs/ID/pause",
        "POST /runs/ID/resume",
        "GET /approvals?limit=7&state=pending",
        "GET /approvals/ID",
        "POST /approvals/ID/decision",
    ];
    assert_eq!(asked, expected);
}

/// A daemon that was killed may have heard it: sent again, it is said once.
#[tokio::test]
async fn what_is_said_has_a_name() {
    let (session, input) = (ID.parse().unwrap(), NewInput { text: "hi".into() });
    let head = head(async |client| client.say(session, &input, "chat-1").await).await;
    assert!(head.starts_with(&format!("POST /admin/v1/sessions/{ID}/messages ")), "{head}");
    assert!(head.contains("\r\nidempotency-key: chat-1\r\n"), "{head}");
}

use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{ConnectorReadiness, RetryClass};
use palyra_connector_core::conformance::AsItIs;
use palyra_connector_core::{AdapterRegistry, CleanText, EntryKey};
use palyra_policy::outbox::{Entry, Rules};
use serde_json::json;

use super::*;
use crate::BuiltIn;

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(1_700_000_000_000)
    }
}

fn connector(kind: &str, settings: Value) -> Connector {
    Connector {
        id: "echo:default".parse().unwrap(),
        kind: kind.into(),
        enabled: true,
        settings,
        queue: QueueSettings::default(),
        readiness: ConnectorReadiness::Ready,
        readiness_reason: None,
        paused_at: None,
        pause_reason: None,
        stopped_since: None,
        stopped_before: Duration::ZERO,
        version: 1,
        created_at: Stopped.now(),
    }
}

fn echo(settings: Value) -> Arc<dyn ConnectorAdapter> {
    echo_in(Path::new("/nowhere"), settings)
}

fn echo_in(folder: &Path, settings: Value) -> Arc<dyn ConnectorAdapter> {
    let registry = BuiltIn::new(Arc::new(Stopped), folder.to_owned());
    registry.build(&connector(KIND, settings)).unwrap()
}

fn message(envelope: &str) -> Stored {
    let key = EntryKey {
        connector: "echo:default".parse().unwrap(),
        envelope: envelope.parse().unwrap(),
        part: 0,
    };
    Stored {
        key,
        conversation: "general".parse().unwrap(),
        lane_seq: Some(0),
        aside: false,
        entry: Entry::held(&Rules::of(&QueueSettings::default(), Repeat::Never)),
        attempt_token: None,
        operation: Operation::Send { text: CleanText::of("hello", &AsItIs), reply_to: None },
        death: None,
        last_class: None,
        last_error: None,
        created_at: Stopped.now(),
        changed_at: Stopped.now(),
        version: 0,
    }
}

async fn send(echo: &Arc<dyn ConnectorAdapter>, envelope: &str) -> Report {
    echo.send(&message(envelope), Permit::default()).await
}

fn lines(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn native(report: &Report) -> String {
    match report {
        Report::Delivered { native: Some(native) } => native.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_arrived_stays_in_the_ledger_and_is_known_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let first = echo_in(folder.path(), json!({ "ledger": "ledger" }));
    assert_eq!(native(&send(&first, "m1").await), "echo-1");
    assert_eq!(native(&send(&first, "m1").await), "echo-1");
    let second = echo_in(folder.path(), json!({ "ledger": "ledger" }));
    assert_eq!(native(&send(&second, "m1").await), "echo-1");
    assert_eq!(native(&send(&second, "m2").await), "echo-2");
    let arrived = lines(&path);
    assert_eq!(arrived.iter().map(|line| line.envelope.as_str()).collect::<Vec<_>>(), ["m1", "m2"]);
    let found = second.reconcile(&message("m2")).await;
    assert_eq!(found.outcome, Reconciled::Delivered);
    assert_eq!(second.reconcile(&message("m3")).await.outcome, Reconciled::NotDelivered);
}

#[tokio::test]
async fn without_deduplication_the_same_arrives_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let silent = json!({ "ledger": "ledger", "deduplicate": false, "tells_history": false });
    let echo = echo_in(folder.path(), silent);
    assert_eq!(echo.capabilities().repeat, Repeat::Never);
    send(&echo, "m1").await;
    send(&echo, "m1").await;
    assert_eq!(lines(&path).len(), 2);
    assert_eq!(echo.reconcile(&message("m1")).await.outcome, Reconciled::StillUnknown);
}

#[tokio::test]
async fn it_fails_as_it_is_told() {
    let class = |report| match report {
        Report::Retry { class, after, .. } => (class, after),
        other => panic!("{other:?}"),
    };
    let failing = |fault| echo(json!({ "faults": { "request": fault } }));
    let transient = send(&failing(json!("transient")), "m").await;
    assert_eq!(class(transient), (RetryClass::TransientNetwork, None));
    let limited = send(&failing(json!({ "rate_limit": { "after": "90s" } })), "m").await;
    assert_eq!(class(limited), (RetryClass::RateLimit, Some(Duration::from_secs(90))));
    let restarting = send(&failing(json!("restarting")), "m").await;
    assert_eq!(class(restarting), (RetryClass::ConnectorRestarting, None));
    assert!(matches!(send(&failing(json!("reject")), "m").await, Report::Rejected { .. }));
    assert!(matches!(send(&failing(json!("unauthorized")), "m").await, Report::AuthFailed { .. }));
    let lossy = failing(json!("lose"));
    assert!(matches!(send(&lossy, "m").await, Report::Unknown { .. }));
    assert_eq!(lossy.reconcile(&message("m")).await.outcome, Reconciled::NotDelivered);
    let dropping = failing(json!("drop_answer"));
    assert!(matches!(send(&dropping, "m").await, Report::Unknown { .. }));
    assert_eq!(dropping.reconcile(&message("m")).await.outcome, Reconciled::Delivered);
    let now_and_then = echo(json!({ "faults": { "request": "reject", "one_in": 2 } }));
    assert!(matches!(send(&now_and_then, "m1").await, Report::Rejected { .. }));
    assert!(matches!(send(&now_and_then, "m1").await, Report::Delivered { .. }));
    let until = Stopped.now() + Duration::from_secs(5);
    let holding = echo(json!({ "faults": { "hold_until": until } }));
    let admission = holding.admit(&message("m")).await;
    assert!(matches!(admission, Admission::NotBefore(at) if at == until), "{admission:?}");
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    let registry = BuiltIn::new(Arc::new(Stopped), "/nowhere".into());
    let refused = |connector| registry.build(&connector).err().unwrap();
    assert!(refused(connector(KIND, json!({ "colour": "red" }))).contains("colour"));
    assert!(refused(connector("pigeon", json!({}))).contains("pigeon"));
    for elsewhere in ["/etc/passwd", "../palyra.toml", ".hidden", "", "a/b"] {
        let settings = json!({ "ledger": elsewhere });
        assert!(registry.check(KIND, &settings).unwrap_err().contains("ledger"), "{elsewhere}");
        assert!(refused(connector(KIND, settings)).contains("ledger"), "{elsewhere}");
    }
}

#[test]
fn a_ledger_in_memory_forgets_the_oldest() {
    let mut ledger = Ledger::open(None).unwrap();
    for n in 0..2_000 {
        ledger.append(&message(&format!("m{n}")), Stopped.now()).unwrap();
    }
    assert_eq!(ledger.find(&message("m0").key), None);
    assert!(ledger.find(&message("m1999").key).is_some());
}

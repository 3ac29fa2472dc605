use std::sync::atomic::AtomicI64;

use palyra_common::ids::NativeMessageId;
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{ConnectorReadiness, RetryClass};
use palyra_common::time::Timestamp;
use palyra_connector_core::conformance::AsItIs;
use palyra_connector_core::{AdapterRegistry, CleanText, EntryKey};
use palyra_policy::outbox::{Entry, Rules};
use serde_json::json;

use super::*;
use crate::BuiltIn;

const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

/// Time that passes when it is told to.
#[derive(Default)]
struct Passing(AtomicI64);

impl Passing {
    fn pass(&self, length: Duration) {
        self.0.fetch_add(length.as_millis().try_into().unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Passing {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(START.as_unix_millis() + self.0.load(Ordering::SeqCst))
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
        created_at: START,
    }
}

fn echo(settings: Value) -> Arc<dyn ConnectorAdapter> {
    echo_in(Path::new("/nowhere"), settings)
}

fn echo_in(folder: &Path, settings: Value) -> Arc<dyn ConnectorAdapter> {
    echo_at(&Arc::new(Passing::default()), folder, settings)
}

fn echo_at(clock: &Arc<Passing>, folder: &Path, settings: Value) -> Arc<dyn ConnectorAdapter> {
    let registry = BuiltIn::new(clock.clone(), folder.to_owned());
    registry.build(&connector(KIND, settings)).unwrap()
}

fn message(envelope: &str) -> Stored {
    let key = EntryKey {
        connector: "echo:default".parse().unwrap(),
        envelope: envelope.parse().unwrap(),
        part: 0,
    };
    let entry = Entry::held(&Rules::of(&QueueSettings::default(), Repeat::Never));
    Stored {
        key,
        conversation: "general".parse().unwrap(),
        lane_seq: Some(0),
        aside: false,
        late: false,
        entry: Entry { first_attempt_at: Some(START), ..entry },
        attempt_token: None,
        operation: Operation::Send { text: CleanText::of("hello", &AsItIs), reply_to: None },
        is_last: true,
        death: None,
        last_class: None,
        last_error: None,
        created_at: START,
        changed_at: START,
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
    let name = native(&send(&first, "m1").await);
    assert_eq!(native(&send(&first, "m1").await), name);
    let second = echo_in(folder.path(), json!({ "ledger": "ledger" }));
    assert_eq!(native(&send(&second, "m1").await), name);
    assert_ne!(native(&send(&second, "m2").await), name);
    let arrived = lines(&path);
    assert_eq!(arrived.iter().map(|line| line.envelope.as_str()).collect::<Vec<_>>(), ["m1", "m2"]);
    let found = second.reconcile(&message("m2")).await;
    assert_eq!(found.outcome, Reconciled::Delivered);
    assert_eq!(second.reconcile(&message("m3")).await.outcome, Reconciled::NotDelivered);
}

/// They may write to one file: a name that one has used says nothing of the other's message.
#[tokio::test]
async fn what_another_connector_has_sent_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({ "ledger": "ledger" });
    let other = || {
        let mut other = message("m1");
        other.key.connector = "echo:other".parse().unwrap();
        other
    };
    let name = native(&send(&echo_in(folder.path(), settings.clone()), "m1").await);
    let restarted = echo_in(folder.path(), settings.clone());
    assert_eq!(restarted.reconcile(&other()).await.outcome, Reconciled::NotDelivered);
    let others = native(&restarted.send(&other(), Permit::default()).await);
    assert_ne!(others, name);
    let restarted = echo_in(folder.path(), settings);
    assert_eq!(native(&restarted.send(&other(), Permit::default()).await), others);
    assert_eq!(native(&send(&restarted, "m1").await), name);
}

/// They say nothing of whose they are.
#[tokio::test]
async fn lines_of_before_count_for_whoever_asks() {
    let folder = tempfile::tempdir().unwrap();
    let line = json!({ "native": "echo-1", "envelope": "m1", "part": 0, "conversation": "general",
        "operation": { "do": "send", "text": "hello" }, "at": START });
    std::fs::write(folder.path().join("ledger"), format!("{line}\n")).unwrap();
    let echo = echo_in(folder.path(), json!({ "ledger": "ledger" }));
    assert_eq!(native(&send(&echo, "m1").await), "echo-1");
}

#[tokio::test]
async fn it_deduplicates_for_a_while_and_then_not() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Arc::new(Passing::default()));
    let settings = json!({ "ledger": "ledger", "remembers_for": "30s" });
    let first = echo_at(&clock, folder.path(), settings.clone());
    // What begins in time may still be on its way when the time is over.
    assert_eq!(first.capabilities().repeat, Repeat::Within(Duration::from_secs(25)));
    let name = native(&send(&first, "m1").await);
    clock.pass(Duration::from_secs(29));
    // A restart does not make it forget, nor remember for longer.
    let second = echo_at(&clock, folder.path(), settings.clone());
    assert_eq!(native(&send(&second, "m1").await), name);
    clock.pass(Duration::from_secs(1));
    for echo in [second, echo_at(&clock, folder.path(), settings)] {
        assert_eq!(echo.reconcile(&message("m1")).await.outcome, Reconciled::Delivered);
        assert_ne!(native(&send(&echo, "m1").await), name);
        clock.pass(Duration::from_secs(30));
    }
    assert_eq!(lines(&folder.path().join("ledger")).len(), 3);
    let brief = echo_in(folder.path(), json!({ "ledger": "brief", "remembers_for": "5s" }));
    assert_eq!(brief.capabilities().repeat, Repeat::Never, "nothing is left of it");
}

/// What was told to a ledger in memory ended with the daemon: nobody knows what became of it.
#[tokio::test]
async fn without_a_file_nothing_is_claimed_about_what_came_before() {
    let clock = Arc::new(Passing::default());
    let first = echo_at(&clock, Path::new("/nowhere"), json!({}));
    assert_eq!(first.capabilities().repeat, Repeat::Never);
    assert_eq!(first.reconcile(&message("m1")).await.outcome, Reconciled::NotDelivered);
    let name = native(&send(&first, "m1").await);
    clock.pass(Duration::from_secs(1));
    let second = echo_at(&clock, Path::new("/nowhere"), json!({}));
    assert_eq!(second.reconcile(&message("m1")).await.outcome, Reconciled::StillUnknown);
    assert_ne!(native(&send(&second, "m2").await), name, "one name for two messages");
}

#[tokio::test]
async fn a_line_that_was_cut_off_takes_no_other_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    std::fs::write(&path, r#"{"native": "echo-1", "env"#).unwrap();
    let first = echo_in(folder.path(), json!({ "ledger": "ledger" }));
    let name = native(&send(&first, "m1").await);
    let second = echo_in(folder.path(), json!({ "ledger": "ledger" }));
    assert_eq!(native(&send(&second, "m1").await), name);
}

#[tokio::test]
async fn what_was_said_is_read_as_it_is_by_now() {
    let folder = tempfile::tempdir().unwrap();
    for settings in [json!({}), json!({ "ledger": "ledger" })] {
        let echo = echo_in(folder.path(), settings);
        let mut names = Vec::new();
        for envelope in ["m1", "m2", "m3"] {
            names.push(native(&send(&echo, envelope).await).parse::<NativeMessageId>().unwrap());
        }
        let text = CleanText::of("Good Bye", &AsItIs);
        let edit = Operation::Edit { message: names[1].clone(), text };
        let delete = Operation::Delete { message: names[0].clone() };
        for (envelope, operation) in [("m4", edit), ("m5", delete)] {
            let change = Stored { operation, ..message(envelope) };
            assert!(matches!(
                echo.send(&change, Permit::default()).await,
                Report::Delivered { .. }
            ));
        }
        echo.typing(&"general".parse().unwrap()).await.unwrap();
        let read = async |before: Option<&NativeMessageId>, containing: Option<&str>, limit| {
            let wanted = Reading {
                conversation: "general".parse().unwrap(),
                before: before.cloned(),
                containing: containing.map(str::to_owned),
                limit,
            };
            let read = echo.read(&wanted).await.unwrap();
            read.into_iter().map(|said| (said.message, said.text)).collect::<Vec<_>>()
        };
        let said =
            [(names[2].clone(), "hello".to_owned()), (names[1].clone(), "Good Bye".to_owned())];
        assert_eq!(read(None, None, 10).await, said);
        assert_eq!(read(None, None, 1).await, said[..1]);
        assert_eq!(read(Some(&names[2]), None, 10).await, said[1..]);
        assert_eq!(read(None, Some("good"), 10).await, said[1..]);
    }
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
    let until = START + Duration::from_secs(5);
    let holding = echo(json!({ "faults": { "hold_until": until } }));
    let admission = holding.admit(&message("m")).await;
    assert!(matches!(admission, Admission::NotBefore(at) if at == until), "{admission:?}");
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_reason() {
    let registry = BuiltIn::new(Arc::new(Passing::default()), "/nowhere".into());
    let refused = |connector| registry.build(&connector).err().unwrap();
    assert!(refused(connector(KIND, json!({ "colour": "red" }))).contains("colour"));
    assert!(refused(connector("pigeon", json!({}))).contains("pigeon"));
    assert!(refused(connector(KIND, json!({ "heartbeat": "10ms" }))).contains("heartbeat"));
    for elsewhere in ["/etc/passwd", "../palyra.toml", ".hidden", "", "a/b"] {
        let settings = json!({ "ledger": elsewhere });
        assert!(registry.check(KIND, &settings).unwrap_err().contains("ledger"), "{elsewhere}");
        assert!(refused(connector(KIND, settings)).contains("ledger"), "{elsewhere}");
    }
}

#[test]
fn a_ledger_in_memory_forgets_the_oldest() {
    let mut ledger = Ledger::in_memory(START);
    for n in 0..2_000 {
        ledger.append(&message(&format!("m{n}")), START + Duration::from_secs(n)).unwrap();
    }
    assert_eq!(ledger.find(&message("m0").key), None);
    assert!(!ledger.goes_back_to(START), "it does not know what it has forgotten");
    assert!(ledger.find(&message("m1999").key).is_some());
}

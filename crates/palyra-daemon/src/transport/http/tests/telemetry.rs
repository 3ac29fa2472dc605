//! What surfaces tell of people.

use axum::http::StatusCode;
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Duration;
use palyra_identity::Origin;
use serde_json::{Value, json};

use super::{Door, House, Told};

const JSON: (&str, &str) = ("content-type", "application/json");
const RUN: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0E";
const ID: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0F";

impl House {
    async fn tell(&self, event: &Value) -> Told {
        let path = "/console/v1/telemetry";
        self.send(Door::Local, "POST", path, &[JSON], &event.to_string()).await
    }

    async fn state_of(&self, event: &Value) -> String {
        let told = self.tell(event).await;
        assert_eq!(told.status, StatusCode::OK, "{told:?}");
        let told: Value = serde_json::from_str(&told.body).unwrap();
        told["state"].as_str().unwrap().to_owned()
    }

    async fn seen(&self, path: &str) -> Value {
        let told = self.ask(Door::Local, "GET", path, ("accept", "*/*")).await;
        assert_eq!(told.status, StatusCode::OK, "{told:?}");
        serde_json::from_str(&told.body).unwrap()
    }

    /// A token for one scope, as the header of its bearer.
    async fn bearer(&self, scope: Scope) -> String {
        let new = palyra_identity::NewToken {
            name: "one".into(),
            scopes: [scope].into_iter().collect(),
            expires_at: None,
            principal: None,
        };
        let owner = self.app.identity.local_owner();
        let made = self.app.identity.create_token(&owner, new, &Origin::new("test")).await;
        format!("Bearer {}", made.unwrap().secret.expose())
    }

    async fn switch(&self, enabled: bool) {
        let change = json!({ "set": { "telemetry.enabled": enabled } }).to_string();
        let told = self.send(Door::Local, "PATCH", "/admin/v1/config", &[JSON], &change).await;
        assert_eq!(told.status, StatusCode::OK, "{told:?}");
        let told: Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!(told["applied"], json!(["telemetry.enabled"]), "at once: {told}");
    }
}

fn opened() -> Value {
    json!({ "kind": "ux.surface.opened", "surface": "web", "section": "overview", "outcome": "ok" })
}

fn resolved(waited: u32) -> Value {
    json!({
        "kind": "ux.approval.resolved", "surface": "web", "section": "approvals", "outcome": "ok",
        "verdict": "approve", "waited_seconds": waited,
    })
}

#[tokio::test]
async fn what_is_told_is_kept_and_shown() {
    let house = House::open().await;
    let mut event = json!({
        "event_id": ID, "kind": "ux.run.inspected", "surface": "tui", "section": "runs",
        "outcome": "error", "latency_ms": 12, "run_id": RUN,
    });
    assert_eq!(house.state_of(&event).await, "recorded");
    let at = house.app.clock.now().as_unix_millis();
    let shown = house.seen("/admin/v1/telemetry").await;
    let record = json!({
        "event_id": ID, "at": at, "kind": "ux.run.inspected", "surface": "tui", "section": "runs",
        "outcome": "error", "latency_ms": 12, "run_id": RUN, "summary": "looked at a run",
    });
    assert_eq!(shown["items"], json!([record]));

    // Told again, whatever it says by now.
    event["outcome"] = "ok".into();
    house.clock.advance(Duration::from_secs(1));
    assert_eq!(house.state_of(&event).await, "known");
    assert_eq!(house.seen("/admin/v1/telemetry").await, shown);
}

#[tokio::test]
async fn a_list_of_events_goes_on_where_it_ended() {
    let house = House::open().await;
    // Ids need not follow the time, since surfaces may choose them.
    for id in ["5", "3", "4", "1", "2"] {
        let mut event = opened();
        event["event_id"] = format!("{}{id}", &ID[..25]).into();
        house.state_of(&event).await;
        if id != "4" {
            house.clock.advance(Duration::from_secs(1));
        }
    }
    let (mut order, mut path) = (String::new(), "/admin/v1/telemetry?limit=2".to_owned());
    loop {
        let page = house.seen(&path).await;
        for item in page["items"].as_array().unwrap() {
            order.push_str(&item["event_id"].as_str().unwrap()[25..]);
        }
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/admin/v1/telemetry?limit=2&after={next}");
    }
    assert_eq!(order, "24135");
    let told =
        house.ask(Door::Local, "GET", "/admin/v1/telemetry?after=x", ("accept", "*/*")).await;
    assert_eq!(told.status, StatusCode::BAD_REQUEST, "{told:?}");
}

#[tokio::test]
async fn a_summary_counts_and_says_how_long_questions_wait() {
    let house = House::open().await;
    let none = house.seen("/admin/v1/telemetry/summary").await;
    assert_eq!(none, json!({ "enabled": true, "counts": [], "approvals": { "decided": 0 } }));
    for waited in [100, 1, 9] {
        house.state_of(&resolved(waited)).await;
    }
    let mut failed = opened();
    failed["outcome"] = "error".into();
    for event in [opened(), opened(), failed] {
        house.state_of(&event).await;
    }
    let counts = json!([
        { "kind": "ux.approval.resolved", "outcome": "ok", "count": 3 },
        { "kind": "ux.surface.opened", "outcome": "error", "count": 1 },
        { "kind": "ux.surface.opened", "outcome": "ok", "count": 2 },
    ]);
    let summary = house.seen("/admin/v1/telemetry/summary").await;
    assert_eq!(summary["counts"], counts);
    assert_eq!(summary["approvals"], json!({ "decided": 3, "median_waited_seconds": 9 }));

    house.clock.advance(Duration::from_mins(2));
    let since = house.app.clock.now().as_unix_millis();
    for waited in [10, 20] {
        house.state_of(&resolved(waited)).await;
    }
    let summary = house.seen(&format!("/admin/v1/telemetry/summary?since={since}")).await;
    assert_eq!(summary["since"], since);
    assert_eq!(summary["approvals"], json!({ "decided": 2, "median_waited_seconds": 15 }));
    assert_eq!(summary["counts"].as_array().unwrap().len(), 1, "{summary}");
}

#[tokio::test]
async fn what_is_no_event_is_refused_and_not_repeated() {
    let house = House::open().await;
    let with = |field: &str, value: Value| {
        let mut event = opened();
        event[field] = value;
        event
    };
    let hostile = [
        with("summary", "hunter2".into()),
        with("text", "hunter2".into()),
        with("section", "hunter2".into()),
        with("kind", "ux.hunter2".into()),
        with("surface", json!({ "web": "hunter2" })),
        with("run_id", "hunter2".into()),
        with("event_id", "hunter2".into()),
        with("latency_ms", "hunter2".into()),
        with("code", "hunter2".into()),
        with("step", "profile".into()),
        json!([opened()]),
        json!("hunter2"),
    ];
    for event in hostile {
        let told = house.tell(&event).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{event}: {told:?}");
        assert!(!told.body.contains("hunter2"), "{told:?}");
    }
    assert_eq!(house.seen("/admin/v1/telemetry").await, json!({ "items": [] }));
}

#[tokio::test]
async fn one_switch_turns_it_off_at_once() {
    let house = House::open().await;
    house.state_of(&opened()).await;
    house.switch(false).await;
    let told = house.tell(&opened()).await;
    assert_eq!((told.status, &*told.body), (StatusCode::OK, r#"{"state":"off"}"#));
    // What is no event is refused all the same.
    assert_eq!(house.tell(&json!({ "text": "x" })).await.status, StatusCode::BAD_REQUEST);
    let kept = house.seen("/admin/v1/telemetry").await["items"].as_array().unwrap().len();
    assert_eq!(kept, 1, "nothing more is kept");
    assert_eq!(house.seen("/admin/v1/telemetry/summary").await["enabled"], false);
    house.switch(true).await;
    assert_eq!(house.state_of(&opened()).await, "recorded");
}

#[tokio::test]
async fn one_login_cannot_tell_any_number_of_events() {
    let house = House::open().await;
    for _ in 0..120 {
        assert_eq!(house.state_of(&opened()).await, "recorded");
    }
    let refused = house.tell(&opened()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{refused:?}");
    assert!(refused.body.contains("http/busy") && refused.body.contains("120"), "{refused:?}");
    // Another login has a minute of its own.
    let bearer = house.bearer(Scope::StatusRead).await;
    let told = house
        .send(
            Door::Tcp(([127, 0, 0, 1], 9).into()),
            "POST",
            "/console/v1/telemetry",
            &[JSON, ("authorization", &bearer)],
            &opened().to_string(),
        )
        .await;
    assert_eq!(told.status, StatusCode::OK, "{told:?}");
    house.clock.advance(Duration::from_mins(1));
    assert_eq!(house.state_of(&opened()).await, "recorded");
}

#[tokio::test]
async fn telling_and_looking_need_their_scope() {
    let house = House::open().await;
    let door = Door::Tcp(([127, 0, 0, 1], 9).into());
    let cases = [
        ("POST", "/console/v1/telemetry", Scope::StatusRead, Scope::MetricsRead),
        ("GET", "/admin/v1/telemetry", Scope::MetricsRead, Scope::StatusRead),
        ("GET", "/admin/v1/telemetry/summary", Scope::MetricsRead, Scope::StatusRead),
    ];
    for (method, path, needed, other) in cases {
        let body = if method == "POST" { opened().to_string() } else { String::new() };
        let stranger = house.send(door, method, path, &[JSON], &body).await;
        assert_eq!(stranger.status, StatusCode::UNAUTHORIZED, "{stranger:?}");
        for (scope, status) in [(needed, StatusCode::OK), (other, StatusCode::FORBIDDEN)] {
            let bearer = house.bearer(scope).await;
            let headers = [JSON, ("authorization", &*bearer)];
            let told = house.send(door, method, path, &headers, &body).await;
            assert_eq!(told.status, status, "{method} {path} with {scope}: {told:?}");
        }
    }
    // A page of somebody else cannot have a browser tell anything.
    let cookie = house.follow(&house.first_link().await).await.cookie.unwrap();
    let headers = [JSON, ("cookie", &*cookie)];
    let told =
        house.send(door, "POST", "/console/v1/telemetry", &headers, &opened().to_string()).await;
    assert_eq!(told.status, StatusCode::FORBIDDEN, "{told:?}");
    assert!(told.body.contains("auth/csrf"), "{told:?}");
}

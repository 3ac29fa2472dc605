//! Where people land who follow a handoff.

use axum::http::StatusCode;
use palyra_common::handoff::parse_console_handoff;
use serde_json::{Value, json};

use super::{Door, House, Told};

const APPROVAL: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0F";
const RUN: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0E";
const HTML: (&str, &str) = ("accept", "text/html");
const JSON: (&str, &str) = ("content-type", "application/json");

impl House {
    async fn link_with(&self, handoff: &Value) -> Told {
        let body = json!({ "handoff": handoff }).to_string();
        self.send(Door::Local, "POST", "/admin/v1/login-codes", &[JSON], &body).await
    }

    async fn read(&self, query: &str) -> Told {
        self.ask(Door::Local, "GET", &format!("/console/v1/handoff?{query}"), HTML).await
    }
}

fn link_of(made: &Told) -> String {
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let link = made["link"].as_str().unwrap();
    link[link.find("/console").unwrap()..].to_owned()
}

#[tokio::test]
async fn a_login_goes_on_to_where_its_handoff_leads() {
    let house = House::open().await;
    let handoff = json!({
        "section": "approvals", "approvalId": APPROVAL, "intent": "approve", "source": "cli",
    });
    let link = link_of(&house.link_with(&handoff).await);
    let told = house.open_link(&link).await;
    assert_eq!(told.status, StatusCode::OK, "{told:?}");
    let told = house.follow(&link).await;
    let there = format!("/?section=approvals&approvalId={APPROVAL}&intent=approve&source=cli");
    assert_eq!((told.status, told.location.as_deref()), (StatusCode::SEE_OTHER, Some(&*there)));
    let cookie = told.cookie.unwrap();
    let page = house.get(&there, ("cookie", &cookie)).await;
    let wanted = format!("You came to see approvals, approval {APPROVAL}, to approve.");
    assert!(page.body.contains(&wanted), "{page:?}");
    // It has logged in once, wherever it leads.
    house.follow(&link).await.body.find("auth/link_used").unwrap();
}

#[tokio::test]
async fn a_link_without_a_handoff_leads_to_the_front_page() {
    let house = House::open().await;
    let link = house.handoff_link().await;
    assert!(!link.contains('&'), "{link}");
    assert_eq!(house.follow(&link).await.location.as_deref(), Some("/"));
}

/// Anybody can add to a link what they like before they send it on.
#[tokio::test]
async fn a_login_leads_nowhere_but_to_the_console() {
    let house = House::open().await;
    let hostile = [
        "section=https://evil.example",
        "section=//evil.example&source=javascript:alert(1)",
        "connectorId=//evil.example/x",
        "connectorId=%2F%2Fevil.example",
        "surfaceId=..%2F..%2Fetc",
        "section=chat%0d%0aLocation:%20https://evil.example",
        "connectorId=a%0d%0aSet-Cookie:%20palyra_login=x",
        "next=https://evil.example&redirect=//evil.example&returnTo=%2F%2Fevil.example",
        "Location=https://evil.example",
        "section=chat#@evil.example",
        "section=chat%23%40evil.example",
        "sessionId=https:%5C%5Cevil.example",
        "intent=%3Cscript%3E&approvalId=%22%3E%3Cscript%3E",
    ];
    for more in hostile {
        let link = format!("{}&{more}", house.handoff_link().await);
        let told = house.follow(&link).await;
        assert_eq!(told.status, StatusCode::SEE_OTHER, "{told:?}");
        let there = told.location.unwrap();
        assert!(there == "/" || there.starts_with("/?section="), "{more}: {there}");
        assert!(!there.contains("evil") && !there.contains("script"), "{more}: {there}");
        assert!(there.bytes().all(|byte| byte.is_ascii_graphic()), "{more}: {there}");
        // What is there reads back as it is: nothing was passed through.
        let read = parse_console_handoff(there.trim_start_matches('/'));
        assert_eq!(read.notices, [], "{more}: {there}");
        let page = house.get(&format!("/?{more}"), ("cookie", &told.cookie.unwrap())).await;
        assert!(!page.body.contains("evil") && !page.body.contains("script"), "{more}: {page:?}");
    }
}

#[tokio::test]
async fn what_is_no_handoff_makes_no_link() {
    let house = House::open().await;
    for handoff in [
        json!({ "section": "payroll", "source": "cli" }),
        json!({ "section": "chat" }),
        json!({ "section": "chat", "source": "cli", "runId": "//evil.example" }),
        json!({ "section": "chat", "source": "cli", "next": "https://evil.example" }),
        json!("/?section=chat"),
    ] {
        let told = house.link_with(&handoff).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{told:?}");
        assert!(!told.body.contains("evil"), "{told:?}");
    }
}

#[tokio::test]
async fn whoever_is_not_logged_in_is_told_how_to_come_back() {
    let house = House::open().await;
    let told = house.get(&format!("/?section=runs&runId={RUN}&source=web"), HTML).await;
    let command = format!("palyra dashboard --section=runs --run={RUN}</pre>");
    assert!(told.status == StatusCode::OK && told.body.contains(&command), "{told:?}");
    let plain = house.get("/?section=payroll&connectorId=%3Cscript%3E", HTML).await;
    assert!(plain.body.contains("<pre>palyra dashboard</pre>"), "{plain:?}");
    // A name that looks like an option is one no more.
    let told = house.get("/?connectorId=--no-open", HTML).await;
    assert!(told.body.contains("--connector=--no-open"), "{told:?}");
}

#[tokio::test]
async fn a_handoff_is_read_for_those_who_are_logged_in() {
    let house = House::open().await;
    let stranger = house.get("/console/v1/handoff?section=chat", HTML).await;
    assert_eq!(stranger.status, StatusCode::UNAUTHORIZED, "{stranger:?}");
    assert!(stranger.body.contains("auth/required"), "{stranger:?}");

    let told = house.read(&format!("section=Runs&runId={}&intent=fly", RUN.to_lowercase())).await;
    assert_eq!(told.status, StatusCode::OK, "{told:?}");
    let told: Value = serde_json::from_str(&told.body).unwrap();
    let origin = format!("http://{}", house.app.place.http);
    let expected = json!({
        "handoff": { "section": "runs", "runId": RUN, "source": "web" },
        "notices": [{
            "field": "intent", "problem": "unknown_value",
            "message": "the link's intent is not a known value and was ignored",
        }],
        "url": format!("{origin}/?section=runs&runId={RUN}&source=web"),
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_handoff_is_read_from_a_token_too() {
    let house = House::open().await;
    let token = "%7B%22section%22%3A%22chat%22%2C%22source%22%3A%22tui%22%7D";
    let told = house.read(&format!("section=runs&token={token}")).await;
    let told: Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(told["handoff"], json!({ "section": "chat", "source": "tui" }));
    for token in ["", "geheim", "%5B%5D", "%7B%22section%22%3A"] {
        let told = house.read(&format!("token={token}")).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{token}: {told:?}");
        assert!(!told.body.contains("geheim"), "{told:?}");
    }
}

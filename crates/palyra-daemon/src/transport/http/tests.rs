use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use palyra_common::api::{CheckState, Doctor};
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::{FIRST_LOGIN_CODE_LASTS, HANDOFF_CODE_LASTS, LoginOptions, Origin};
use palyra_storage::{Database, OpenOptions};
use palyra_testkit::clock::FakeClock;
use palyra_vault::{Actor, Redactor};
use serde_json::Value;
use tower::ServiceExt;

use super::door::Door;
use super::{page, router};
use crate::app::App;
use crate::config::{self, Given};
use crate::log::LogHandle;
use crate::metrics;
use crate::serve::parts;

mod handoff;
mod telemetry;

const A_MOMENT: Duration = Duration::from_millis(1);

/// A daemon without a network, whose clock stands still.
struct House {
    app: App,
    router: Router,
    clock: FakeClock,
    _folder: tempfile::TempDir,
}

impl House {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path();
        let mut given = Given::default();
        for option in ["http.bind", "grpc.bind"] {
            given.flags.insert(option, "127.0.0.1:0".into());
        }
        // The key of the vault stays with the rest, so that nobody's home is touched.
        let key_file = data_dir.join("master.key").display().to_string();
        given.flags.insert("vault.key_file", key_file);
        let clock = FakeClock::new(Timestamp::from_unix_millis(1_800_000_000_000));
        let start = parts::Start {
            db: Database::open(OpenOptions::in_directory(data_dir)).await.unwrap(),
            clock: Arc::new(clock.clone()),
            loaded: config::load(&given, data_dir).unwrap(),
            given,
            log: LogHandle::unused(),
            metrics: metrics::unused(),
            redactor: Redactor::new(),
        };
        let parts::Opened { app, .. } = parts::open(start, data_dir).await.unwrap();
        Self { router: router(app.clone()), app, clock, _folder: folder }
    }

    /// Lets all but the last moment of `time` pass.
    fn almost(&self, time: Duration) -> Timestamp {
        self.clock.set(self.clock.now() + time - A_MOMENT);
        self.clock.now()
    }

    async fn ask(&self, door: Door, method: &str, path: &str, header: (&str, &str)) -> Told {
        self.send(door, method, path, &[header], "").await
    }

    async fn send(
        &self,
        door: Door,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Told {
        let host = self.app.place.http.to_string();
        let request = Request::builder().method(method).uri(path).header(header::HOST, host);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut request = request.body(Body::from(body.to_owned())).unwrap();
        request.extensions_mut().insert(door);
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let cookie = answer.headers().get(header::SET_COOKIE);
        let cookie = cookie.map(|line| line.to_str().unwrap().split(';').next().unwrap().into());
        let location = answer.headers().get(header::LOCATION);
        let location = location.map(|line| line.to_str().unwrap().to_owned());
        let policy = answer.headers().get(header::REFERRER_POLICY).unwrap();
        let (status, referrer_policy) = (answer.status(), policy.to_str().unwrap().to_owned());
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.into()).unwrap();
        Told { status, cookie, location, referrer_policy, body }
    }

    /// As somebody on the network.
    async fn by_tcp(&self, method: &str, path: &str, header: (&str, &str)) -> Told {
        self.ask(Door::Tcp(([127, 0, 0, 1], 9).into()), method, path, header).await
    }

    async fn get(&self, path: &str, header: (&str, &str)) -> Told {
        self.by_tcp("GET", path, header).await
    }

    /// Opens a link and looks at the page.
    async fn open_link(&self, path: &str) -> Told {
        self.get(path, ("accept", "text/html")).await
    }

    /// Presses the button on that page.
    async fn follow(&self, path: &str) -> Told {
        self.by_tcp("POST", path, ("accept", "text/html")).await
    }

    /// The path of the link that the first start prints.
    async fn first_link(&self) -> String {
        let code = self.app.identity.first_login_code(&Origin::new("palyrad")).await;
        format!("/console/v1/login?code={}", code.unwrap().unwrap().secret.expose())
    }

    /// The path of a link that the local owner asks for.
    async fn handoff_link(&self) -> String {
        let made = self.ask(Door::Local, "POST", "/admin/v1/login-codes", ("accept", "*/*")).await;
        assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
        let made: Value = serde_json::from_str(&made.body).unwrap();
        let link = made["link"].as_str().unwrap();
        link[link.find("/console").unwrap()..].to_owned()
    }

    async fn session(&self, cookie: &str) -> Told {
        self.get("/console/v1/session", ("cookie", cookie)).await
    }
}

#[derive(Debug)]
struct Told {
    status: StatusCode,
    cookie: Option<String>,
    location: Option<String>,
    referrer_policy: String,
    body: String,
}

impl Told {
    /// A page that says that the link has expired, and what to do.
    fn assert_link_expired(&self) {
        assert_eq!(self.status, StatusCode::GONE, "{self:?}");
        assert_eq!(self.cookie, None);
        let expired = StableErrorEnvelope::new(ErrorCode::AuthLinkExpired, "");
        assert!(self.body.contains("<code>auth/link_expired</code>"), "{self:?}");
        assert!(self.body.contains(&page::escape(expired.recovery_hint())), "{self:?}");
    }

    fn assert_expired(&self) {
        assert_eq!(self.status, StatusCode::UNAUTHORIZED, "{self:?}");
        let envelope: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(envelope["code"], "auth/expired", "{self:?}");
        assert_ne!(envelope["recovery_hint"], "", "{self:?}");
    }
}

#[tokio::test]
async fn the_first_link_works_for_ten_minutes() {
    let house = House::open().await;
    let link = house.first_link().await;
    house.clock.advance(Duration::from_mins(10));
    house.open_link(&link).await.assert_link_expired();
    house.follow(&link).await.assert_link_expired();
    house.follow(&link).await.assert_link_expired();

    let link = house.first_link().await;
    house.almost(FIRST_LOGIN_CODE_LASTS);
    let told = house.follow(&link).await;
    assert_eq!(told.status, StatusCode::SEE_OTHER, "{told:?}");
    assert_eq!(house.session(&told.cookie.unwrap()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_handoff_link_works_for_a_minute() {
    let house = House::open().await;
    let link = house.handoff_link().await;
    house.clock.advance(Duration::from_secs(60));
    house.follow(&link).await.assert_link_expired();

    let link = house.handoff_link().await;
    house.almost(HANDOFF_CODE_LASTS);
    assert_eq!(house.follow(&link).await.status, StatusCode::SEE_OTHER);
}

/// The preview of a chat, a browser that fetches ahead, somebody who only wonders.
#[tokio::test]
async fn whoever_only_looks_at_a_link_does_not_use_it_up() {
    let house = House::open().await;
    let link = house.first_link().await;
    let looks = [
        ("GET", ("accept", "text/html")),
        ("GET", ("sec-purpose", "prefetch;prerender")),
        ("GET", ("purpose", "prefetch")),
        ("HEAD", ("accept", "*/*")),
    ];
    for (method, header) in looks {
        let told = house.by_tcp(method, &link, header).await;
        assert_eq!((told.status, &told.cookie), (StatusCode::OK, &None), "{method} {header:?}");
    }
    let page = house.open_link(&link).await.body;
    assert!(page.contains("<form method=\"post\"><button>Log in</button></form>"), "{page}");
    let (_, code) = link.split_once('=').unwrap();
    assert!(!page.contains(code), "the address has it already: {page}");

    let told = house.follow(&link).await;
    assert_eq!(told.status, StatusCode::SEE_OTHER, "{told:?}");
    assert_eq!(house.session(&told.cookie.unwrap()).await.status, StatusCode::OK);
    for told in [house.open_link(&link).await, house.follow(&link).await] {
        assert_eq!((told.status, &told.cookie), (StatusCode::GONE, &None), "{told:?}");
        assert!(told.body.contains("<code>auth/link_used</code>"), "{told:?}");
    }
}

/// Where the page says `no-referrer` a browser names no page of origin, and its own form would be
/// refused; where it says more, the code goes along.
#[tokio::test]
async fn the_page_of_a_link_tells_where_it_is_and_not_its_code() {
    let house = House::open().await;
    let told = house.open_link(&house.first_link().await).await;
    assert_eq!(told.referrer_policy, "strict-origin");
    assert_eq!(house.open_link("/").await.referrer_policy, "no-referrer");
}

/// A page of somebody else must not log a browser in as that somebody.
#[tokio::test]
async fn a_form_of_another_site_does_not_log_in() {
    let house = House::open().await;
    let link = house.first_link().await;
    for header in
        [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    {
        let told = house.by_tcp("POST", &link, header).await;
        assert_eq!((told.status, told.cookie), (StatusCode::FORBIDDEN, None), "{header:?}");
    }
    let own = format!("http://{}", house.app.place.http);
    let told = house.by_tcp("POST", &link, ("origin", &own)).await;
    assert_eq!(told.status, StatusCode::SEE_OTHER, "{told:?}");
}

/// Somebody opened it by hand, or copied half of it.
#[tokio::test]
async fn a_link_without_its_code_is_told_as_a_page() {
    let house = House::open().await;
    for path in ["/console/v1/login", "/console/v1/login?", "/console/v1/login?cod=a"] {
        for told in [house.open_link(path).await, house.follow(path).await] {
            assert_eq!(told.status, StatusCode::NOT_FOUND, "{told:?}");
            assert!(told.body.starts_with("<!doctype html>"), "{told:?}");
            assert!(told.body.contains("palyra dashboard"), "{told:?}");
            assert!(told.body.contains("<code>auth/link_unknown</code>"), "{told:?}");
        }
    }
}

#[tokio::test]
async fn a_login_that_nobody_uses_ends() {
    let house = House::open().await;
    let cookie = house.follow(&house.first_link().await).await.cookie.unwrap();
    let idle = LoginOptions::default().idle;
    for _ in 0..3 {
        house.almost(idle);
        assert_eq!(house.session(&cookie).await.status, StatusCode::OK);
    }
    house.clock.advance(idle);
    house.session(&cookie).await.assert_expired();
}

#[tokio::test]
async fn a_login_ends_however_much_it_is_used() {
    let house = House::open().await;
    let cookie = house.follow(&house.first_link().await).await.cookie.unwrap();
    let LoginOptions { idle, absolute } = LoginOptions::default();
    let ends = house.clock.now() + absolute;
    loop {
        let now = house.almost(idle);
        if now >= ends {
            break;
        }
        assert_eq!(house.session(&cookie).await.status, StatusCode::OK, "{now}");
    }
    house.clock.set(ends - A_MOMENT);
    assert_eq!(house.session(&cookie).await.status, StatusCode::OK);
    house.clock.set(ends);
    house.session(&cookie).await.assert_expired();
}

#[tokio::test]
async fn a_token_ends_when_it_was_said_to() {
    let house = House::open().await;
    let origin = Origin::new("test");
    let new = palyra_identity::NewToken {
        name: "short".into(),
        scopes: [Scope::StatusRead].into_iter().collect(),
        expires_at: Some(house.clock.now() + Duration::from_hours(1)),
        principal: None,
    };
    let owner = house.app.identity.local_owner();
    let made = house.app.identity.create_token(&owner, new, &origin).await.unwrap();
    let bearer = format!("Bearer {}", made.secret.expose());
    house.almost(Duration::from_hours(1));
    let told = house.get("/admin/v1/whoami", ("authorization", &bearer)).await;
    assert_eq!(told.status, StatusCode::OK, "{told:?}");
    house.clock.advance(A_MOMENT);
    house.get("/admin/v1/whoami", ("authorization", &bearer)).await.assert_expired();
}

/// A link makes the local owner an owner; nobody has opened it yet.
#[tokio::test]
async fn the_doctor_does_not_call_a_link_a_login() {
    let house = House::open().await;
    let owner = async || {
        let told = house.ask(Door::Local, "GET", "/admin/v1/doctor", ("accept", "*/*")).await;
        let doctor: Doctor = serde_json::from_str(&told.body).unwrap();
        doctor.checks.into_iter().find(|check| check.name == "owner").unwrap()
    };
    assert_eq!(owner().await.seen, "there is no owner yet: nobody has logged in");
    let link = house.handoff_link().await;
    let told = owner().await;
    assert_eq!(told.state, CheckState::Ok);
    assert_eq!(told.seen, "there is an owner, who has not logged in yet");
    house.follow(&link).await;
    assert_eq!(owner().await.seen, "the owner has logged in");
}

/// One look serves many who ask at the same time, but none who knows more by then.
#[tokio::test]
async fn the_status_is_never_older_than_what_was_told_before() {
    let house = House::open().await;
    let look = async |path| {
        let told = house.ask(Door::Local, "GET", path, ("accept", "*/*")).await;
        serde_json::from_str::<Value>(&told.body).unwrap()
    };
    let status = "/admin/v1/status";
    let by = Actor { by: Principal::owner(), credential: None, origin: "test".into() };
    let name = "global/x".parse().unwrap();
    house.app.vault.set(&name, "geheim".into(), &by).await.unwrap();
    assert_eq!(look(status).await["has_owner"], false);
    house.handoff_link().await;
    assert_eq!(look(status).await["has_owner"], true);

    std::fs::remove_file(house.app.place.data_dir.join("master.key")).unwrap();
    let checks = look("/admin/v1/doctor").await;
    assert!(checks.to_string().contains("vault/key_only_in_memory"), "{checks}");
    let code = look(status).await["vault"]["problem"]["code"].clone();
    assert_eq!(code, "vault/key_only_in_memory");
}

/// Databases have no text with U+0000, so nothing is found by one.
#[tokio::test]
async fn nothing_in_the_audit_trail_has_a_zero_in_it() {
    let house = House::open().await;
    house.handoff_link().await;
    for filter in ["actor", "action", "subject"] {
        let path = format!("/admin/v1/events?{filter}=a%00");
        let told = house.ask(Door::Local, "GET", &path, ("accept", "*/*")).await;
        assert_eq!((told.status, told.body.as_str()), (StatusCode::OK, r#"{"items":[]}"#));
    }
}

/// What was read before is told, and what nobody here knows is not made up.
#[tokio::test]
async fn the_status_makes_nothing_up_while_the_database_is_away() {
    let house = House::open().await;
    let look = async || {
        let told = house.ask(Door::Local, "GET", "/admin/v1/status", ("accept", "*/*")).await;
        serde_json::from_str::<Value>(&told.body).unwrap()
    };
    house.handoff_link().await;
    let before = look().await;
    house.app.db.close().await;
    house.app.last_look.outdate();
    let away = look().await;
    assert!(away["waiting_for"].to_string().contains("database"), "{away}");
    assert!(before["schema"].is_number(), "{before}");
    assert_eq!(away["schema"], before["schema"], "{away}");
    assert_eq!(away["has_owner"], true, "{away}");
    assert_eq!(before["owner_logged_in"], false, "{before}");
    for field in ["owner_logged_in", "runs"] {
        assert!(away[field].is_null(), "it may have changed: {away}");
    }

    let other = House::open().await;
    other.app.db.close().await;
    let told = other.ask(Door::Local, "GET", "/admin/v1/status", ("accept", "*/*")).await;
    let never: Value = serde_json::from_str(&told.body).unwrap();
    for field in ["schema", "has_owner", "owner_logged_in", "runs"] {
        assert!(never[field].is_null(), "{never}");
    }
    assert_eq!(never["vault"]["problem"]["code"], "storage/unavailable", "{never}");
    let front = other.ask(Door::Local, "GET", "/", ("accept", "text/html")).await;
    assert!(front.body.contains("schema not known"), "{front:?}");
}

/// A key file on a disk that does not answer, as that of another machine: reading it takes for ever.
#[tokio::test]
async fn a_key_whose_source_hangs_is_not_called_lost() {
    let house = House::open().await;
    let by = Actor { by: Principal::owner(), credential: None, origin: "test".into() };
    let name = "global/x".parse().unwrap();
    house.app.vault.set(&name, "geheim".into(), &by).await.unwrap();
    let file = house.app.place.data_dir.join("master.key");
    std::fs::remove_file(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let told = house.ask(Door::Local, "GET", "/admin/v1/status", ("accept", "*/*")).await;
    // Whoever reads it gets an end.
    let release = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    let status: Value = serde_json::from_str(&told.body).unwrap();
    let doubt = format!("the key file {} did not answer within 2 s", file.display());
    assert_eq!(status["vault"]["doubt"], doubt, "{status}");
    assert!(status["vault"]["problem"].is_null(), "{status}");
    assert!(status["vault"]["key_id"].is_string(), "{status}");
    // Not before nobody can find it any more.
    std::fs::remove_file(&file).unwrap();
    drop(release);
}

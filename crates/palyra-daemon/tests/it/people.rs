//! Who else there is, and their logins.

use crate::daemon::{Answer, Daemon};

const JSON: &str = "Content-Type: application/json";

fn add(daemon: &Daemon, who: &str, role: &str) -> Answer {
    let new = format!(r#"{{"principal": "{who}", "role": "{role}"}}"#);
    daemon.local("POST", "/admin/v1/principals", &new)
}

/// The cookie of a browser that opened a link for `who`.
fn login(daemon: &Daemon, who: &str) -> String {
    let new = format!(r#"{{"principal": "{who}"}}"#);
    let code = daemon.local("POST", "/admin/v1/login-codes", &new);
    assert_eq!(code.status, 201, "{code:?}");
    let link = code.json()["link"].as_str().unwrap().to_owned();
    let (_, path) = link.split_once(&daemon.http.to_string()).unwrap();
    let opened = daemon.tcp("POST", path, &[], "");
    let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    format!("Cookie: {cookie}")
}

#[test]
fn a_person_is_added_let_in_and_disabled() {
    let daemon = Daemon::start();
    let added = add(&daemon, "operator:anna", "viewer");
    assert_eq!((added.status, &added.json()["role"]), (201, &"viewer".into()));
    assert_eq!(add(&daemon, "operator:anna", "operator").code(), "common/conflict");
    for (who, role) in [("operator:ben", "owner"), ("agent:x", "viewer"), ("system", "viewer")] {
        let refused = add(&daemon, who, role);
        assert_eq!((refused.status, refused.code().as_str()), (400, "common/invalid_input"));
    }
    let cookie = login(&daemon, "operator:anna");
    let who = daemon.tcp("GET", "/admin/v1/whoami", &[&cookie], "").json();
    assert_eq!((&who["principal"], &who["role"]), (&"operator:anna".into(), &"viewer".into()));
    let listed = daemon.tcp("GET", "/admin/v1/principals", &[&cookie], "");
    assert_eq!((listed.status, listed.code().as_str()), (403, "auth/forbidden"));

    let disabled = daemon.local("DELETE", "/admin/v1/principals/operator:anna", "");
    assert_eq!(disabled.status, 200, "{disabled:?}");
    assert!(disabled.json()["disabled_at"].is_number(), "{disabled:?}");
    let gone = daemon.tcp("GET", "/admin/v1/whoami", &[&cookie], "");
    assert_eq!((gone.status, gone.code().as_str()), (401, "auth/revoked"));
    let owner = daemon.local("DELETE", "/admin/v1/principals/operator:owner", "");
    assert_eq!((owner.status, owner.code().as_str()), (409, "common/conflict"));
    let again = add(&daemon, "operator:anna", "viewer");
    assert_eq!((again.status, again.code().as_str()), (409, "common/conflict"));
    assert!(again.body.contains("was disabled, which is for good"), "{again:?}");
    let nobody = daemon.local("DELETE", "/admin/v1/principals/nobody", "");
    assert_eq!(nobody.status, 404, "{nobody:?}");
    let members = daemon.local("GET", "/admin/v1/principals", "").json();
    let names: Vec<_> = members["items"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 2, "{members}");
}

#[test]
fn logins_are_seen_and_ended_by_those_whose_they_are_and_the_owner() {
    let daemon = Daemon::start();
    add(&daemon, "operator:anna", "approver");
    let (cookie, other) = (login(&daemon, "operator:anna"), login(&daemon, "operator:owner"));
    let own = daemon.tcp("GET", "/admin/v1/logins", &[&cookie], "").json();
    let own = own["items"].as_array().unwrap();
    assert_eq!((own.len(), &own[0]["principal"]), (1, &"operator:anna".into()));
    let all = daemon.local("GET", "/admin/v1/logins?limit=1", "").json();
    let owners = all["items"][0]["id"].as_str().unwrap();
    assert_eq!(all["items"][0]["principal"], "operator:owner");
    let rest = daemon.local("GET", &format!("/admin/v1/logins?after={owners}"), "").json();
    assert_eq!(rest["items"][0]["id"], own[0]["id"]);

    let csrf = daemon.tcp("GET", "/console/v1/session", &[&cookie], "").json()["csrf"].clone();
    let csrf = format!("X-Palyra-Csrf: {}", csrf.as_str().unwrap());
    let foreign = format!("/admin/v1/logins/{owners}");
    let denied = daemon.tcp("DELETE", &foreign, &[&cookie, &csrf], "");
    assert_eq!((denied.status, denied.code().as_str()), (404, "common/not_found"));
    let path = format!("/admin/v1/logins/{}", own[0]["id"].as_str().unwrap());
    let ended = daemon.local("DELETE", &path, "");
    assert!(ended.status == 200 && ended.json()["ended_at"].is_number(), "{ended:?}");
    assert_eq!(daemon.tcp("GET", "/admin/v1/whoami", &[&cookie], "").code(), "auth/revoked");
    assert_eq!(daemon.tcp("GET", "/admin/v1/whoami", &[&other], "").status, 200);
}

#[test]
fn a_token_gives_others_no_more_than_it_has() {
    let daemon = Daemon::start();
    add(&daemon, "operator:anna", "viewer");
    let (_, secret) = daemon.token(&["tokens:write", "status:read", "principals:write"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let headers = [bearer.as_str(), JSON];
    let new = r#"{"principal": "operator:ben", "role": "viewer"}"#;
    let new_token = r#"{"name": "a", "scopes": ["status:read"], "principal": "operator:anna"}"#;
    for (path, body) in [("/admin/v1/principals", new), ("/admin/v1/tokens", new_token)] {
        let refused = daemon.tcp("POST", path, &headers, body);
        assert_eq!((refused.status, refused.code().as_str()), (403, "auth/forbidden"), "{path}");
        assert!(refused.body.contains("metrics:read"), "{refused:?}");
    }
    let made = daemon.local("POST", "/admin/v1/tokens", new_token).json();
    assert_eq!(made["token"]["principal"], "operator:anna");
}

//! What a credential made, and what it did.

use serde_json::Value;

use crate::daemon::Daemon;

const JSON: &str = "Content-Type: application/json";

fn bearer(secret: &str) -> String {
    format!("Authorization: Bearer {secret}")
}

/// The details of the entries about `action`, newest first.
fn told(daemon: &Daemon, action: &str) -> Vec<Value> {
    let events = daemon.local("GET", &format!("/admin/v1/events?action={action}"), "").json();
    events["items"].as_array().unwrap().iter().map(|event| event["detail"].clone()).collect()
}

#[test]
fn a_revoked_token_takes_along_what_it_made() {
    let daemon = Daemon::start();
    let (id, secret) = daemon.token(&["status:read", "tokens:write", "logins:write"]);
    let headers = [&bearer(&secret), JSON];
    let new = r#"{"name": "ci", "scopes": ["status:read"]}"#;
    let made = daemon.tcp("POST", "/admin/v1/tokens", &headers, new).json();
    assert_eq!(made["token"]["made_by"], format!("token:{id}"));
    let child = bearer(made["secret"].as_str().unwrap());
    let code = daemon.tcp("POST", "/admin/v1/login-codes", &headers, "").json();
    assert_eq!(daemon.tcp("GET", "/admin/v1/status", &[&child], "").status, 200);

    assert_eq!(daemon.local("DELETE", &format!("/admin/v1/tokens/{id}"), "").status, 200);
    let gone = daemon.tcp("GET", "/admin/v1/status", &[&child], "");
    assert_eq!((gone.status, gone.code().as_str()), (401, "auth/revoked"));
    let (_, path) = code["link"].as_str().unwrap().split_once(&daemon.http.to_string()).unwrap();
    for method in ["GET", "POST"] {
        let link = daemon.tcp(method, path, &[], "");
        assert_eq!(link.status, 401, "{method}: {link:?}");
    }
    let ended = serde_json::json!({ "tokens": 1, "logins": 0, "login_codes": 1 });
    assert_eq!(told(&daemon, "token.revoked")[0]["ended"], ended);
}

#[test]
fn the_audit_trail_names_the_credential_that_was_used() {
    let daemon = Daemon::start();
    let scopes =
        ["tokens:write", "logins:write", "secrets:write", "config:write", "backups:create"];
    let (id, secret) = daemon.token(&scopes);
    let headers = [&bearer(&secret), JSON];
    let new = r#"{"name": "ci", "scopes": ["tokens:write"]}"#;
    daemon.tcp("POST", "/admin/v1/tokens", &headers, new);
    daemon.tcp("POST", "/admin/v1/login-codes", &headers, "");
    daemon.tcp("PUT", "/admin/v1/secrets/global/a", &headers, r#"{"value": "geheim"}"#);
    daemon.tcp("PATCH", "/admin/v1/config", &headers, r#"{"set": {"log.level": "warn"}}"#);
    // Its answer is no text.
    let head = format!("Host: {}\r\n{}\r\nConnection: close", daemon.http, headers[0]);
    daemon.raw(format!("POST /admin/v1/backups HTTP/1.1\r\n{head}\r\n\r\n").as_bytes());
    let actions =
        ["token.created", "login_code.created", "secret.set", "config.changed", "backup.started"];
    for action in actions {
        let told = told(&daemon, action);
        assert_eq!(told[0]["credential"], format!("token:{id}"), "{action}");
    }
    assert_eq!(told(&daemon, "token.created")[1]["credential"], "local");
}

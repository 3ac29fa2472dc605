//! Which scope each operation of the API needs, found out by asking with all but one.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;

use palyra_common::runtime_contracts::Scope;
use serde_json::Value;

use crate::daemon::{Daemon, LIMIT};

/// What an operation takes, so that it is refused for the scope and for nothing else.
fn body_of(operation: &str) -> &'static str {
    match operation {
        "POST /admin/v1/tokens" => r#"{"name": "t", "scopes": ["status:read"]}"#,
        "POST /admin/v1/principals" => r#"{"principal": "operator:anna", "role": "viewer"}"#,
        "PUT /admin/v1/secrets/{scope}/{name}" => r#"{"value": "a value"}"#,
        "PATCH /admin/v1/config" => r#"{"set": {"log.level": "info"}}"#,
        "POST /admin/v1/redact" => r#"{"texts": []}"#,
        "POST /admin/v1/channels" => r#"{"id": "echo:other"}"#,
        "POST /admin/v1/channels/{id}/queue/pause" => r#"{"reason": "a reason"}"#,
        "POST /admin/v1/channels/{id}/unknown/{envelope}/{part}/resolve" => {
            r#"{"resolution": "resend"}"#
        }
        "POST /admin/v1/channels/{id}/messages" => r#"{"conversation": "a", "text": "x"}"#,
        "POST /admin/v1/channels/{id}/test" => r#"{"text": "x"}"#,
        "POST /admin/v1/router/rules" => r#"{"channel": "echo:nobody", "rule": {}}"#,
        "PUT /admin/v1/router/rules/{id}" => r#"{"rule": {}}"#,
        "POST /admin/v1/router/preview" => {
            r#"{"channel": "echo:nobody", "conversation": "a", "sender": "a", "text": "x"}"#
        }
        "POST /admin/v1/agents" => r#"{"id": "default", "spec": {}}"#,
        "PUT /admin/v1/agents/{id}" => r#"{"spec": {}}"#,
        "PUT /admin/v1/sessions/{id}" => r#"{"title": "x"}"#,
        "POST /admin/v1/sessions/{id}/messages" => r#"{"text": "x"}"#,
        "POST /console/v1/acp" => r#"{"v": 1, "request_id": "r", "command": "session.list"}"#,
        "POST /admin/v1/approvals/{id}/decision" => r#"{"verdict": "deny"}"#,
        _ => "{}",
    }
}

fn path_of(template: &str) -> String {
    let of_channel = template.contains("/channels/");
    let messages = if of_channel { "FAV/messages?conversation=a" } else { "FAV/messages" };
    template
        .replace("{id}", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
        .replace("{scope}", "global")
        .replace("{name}", "x")
        .replace("{envelope}", "x")
        .replace("{part}", "0")
        .replace("{other}", "01ARZ3NDEKTSV4RRFFQ69G5FAW")
        .replace("FAV/messages", messages)
        .replace("/agents/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/agents/nobody")
        .replace("/principals/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/principals/operator:nobody")
        .replace("/console/v1/login", "/console/v1/login?code=none")
}

#[test]
fn every_operation_needs_its_scope() {
    let description = include_str!("../../../../schemas/openapi/palyra.json");
    let description: Value = serde_json::from_str(description).unwrap();
    let (daemon, _folder) = Daemon::with_config("[http]\nrequests_per_second = 0\n");
    let tokens: Vec<_> = Scope::ALL
        .iter()
        .map(|missing| {
            let rest = Scope::ALL.iter().filter(|scope| *scope != missing);
            let rest: Vec<_> = rest.map(|scope| scope.as_str()).collect();
            (missing.as_str(), daemon.token(&rest).1)
        })
        .collect();
    let mut table = String::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let operation = format!("{} {path}", method.to_uppercase());
            let needed = needed(&daemon, &operation, &tokens);
            writeln!(table, "{operation}: {needed}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// The scope without which an operation is refused.
fn needed(daemon: &Daemon, operation: &str, tokens: &[(&str, String)]) -> String {
    let mut refused = Vec::new();
    for (missing, secret) in tokens {
        let status = status(daemon, operation, secret);
        // 429: the backup before it is not read to its end.
        let known = [200, 201, 204, 404, 409, 410, 429, 503];
        assert!(status == 403 || known.contains(&status), "{operation}: {status}");
        if status == 403 {
            refused.push(*missing);
        }
    }
    match &refused[..] {
        [] => "nothing".into(),
        all if all.len() == tokens.len() => "the local owner".into(),
        some => some.join(", "),
    }
}

/// Only the status: a backup need not be read to its end.
fn status(daemon: &Daemon, operation: &str, secret: &str) -> u16 {
    let (method, path) = operation.split_once(' ').unwrap();
    let (path, body, host) = (path_of(path), body_of(operation), daemon.http);
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut first = String::new();
    BufReader::new(stream).read_line(&mut first).unwrap();
    first.split(' ').nth(1).unwrap().parse().unwrap()
}

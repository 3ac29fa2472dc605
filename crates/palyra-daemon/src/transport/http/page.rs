//! Plain pages, until the console takes their place.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use palyra_common::handoff::{
    CrossSurfaceHandoff, ParsedHandoff, to_console_address, to_handoff_url,
};
use palyra_identity::Access;

use super::refusal::Refusal;
use crate::app::App;
use crate::{hosts, ready};

pub(crate) const STYLE: &str = include_str!("page/style.css");

/// The link with which a browser logs in, and goes on to where `handoff` leads.
pub(crate) fn login_link(app: &App, code: &str, handoff: Option<&CrossSurfaceHandoff>) -> String {
    let origin = hosts::origin(app.place.http, &app.config().http.public_url);
    let address = handoff.map(to_handoff_url).unwrap_or_default();
    let more = address.split_once('?').map(|(_, query)| format!("&{query}")).unwrap_or_default();
    format!("{origin}/console/v1/login?code={code}{more}")
}

/// What whoever is not logged in sees: nothing but how to log in, and to come back to where they wanted.
pub(crate) fn stranger(asked: &CrossSurfaceHandoff) -> Response {
    let text = format!(
        "<p>Log in with a link from the machine that runs Palyra:</p><pre>{}</pre>",
        escape(&dashboard(asked))
    );
    page(StatusCode::OK, "Palyra", &text)
}

/// The command whose link leads to where `asked` does.
fn dashboard(asked: &CrossSurfaceHandoff) -> String {
    let options = (to_console_address(asked) != "/").then(|| {
        let options = named(asked).into_iter();
        let options: String = options.map(|(name, value)| format!(" --{name}={value}")).collect();
        let intent = asked.intent.map(|intent| format!(" --intent={intent}"));
        format!(" --section={}{}{}", asked.section, options, intent.unwrap_or_default())
    });
    format!("palyra dashboard{}", options.unwrap_or_default())
}

/// What a login link leads to. Only the button uses the link, so that whoever fetches it to show
/// what it is does not; it sends its form to the address of the page, which has the code.
pub(crate) fn login() -> Response {
    let text = "<p>This link logs this browser in to Palyra. It works once.</p>\
                <form method=\"post\"><button>Log in</button></form>";
    let mut response = page(StatusCode::OK, "Log in to Palyra", text);
    // Enough for a browser to say that the form is ours, and not the code.
    let policy = HeaderValue::from_static("strict-origin");
    response.headers_mut().insert(header::REFERRER_POLICY, policy);
    response
}

pub(crate) fn refused(refusal: &Refusal) -> Response {
    let envelope = refusal.envelope();
    let text = format!(
        "<p>{}</p><p>{}</p><p><code>{}</code></p>",
        escape(envelope.message()),
        escape(envelope.recovery_hint()),
        escape(envelope.code())
    );
    page(refusal.status(), "That did not work", &text)
}

pub(crate) async fn front(app: &App, access: &Access, asked: &ParsedHandoff) -> Response {
    let ready = ready::cached(app).await;
    let state = match ready.waiting_for.as_slice() {
        [] => "ready".to_owned(),
        parts => format!("waiting for {}", parts.join(", ")),
    };
    let schema = match ready.schema {
        Some(schema) => format!("schema {schema}"),
        None => "schema not known while it is away".into(),
    };
    let rows = [
        ("State", state),
        ("Version", env!("CARGO_PKG_VERSION").into()),
        ("Database", format!("{}, {schema}", app.db.engine().as_str())),
        ("Since", app.started_at.to_string()),
        ("You are", format!("{} ({})", access.principal, access.role)),
    ];
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(&value)));
    let text = format!(
        "{}<dl>{}</dl><p>The command line does the rest: <code>palyra --help</code></p>",
        wanted(asked),
        rows.concat()
    );
    page(StatusCode::OK, "Palyra", &text)
}

/// What somebody came to see, and what of it could not be understood.
fn wanted(asked: &ParsedHandoff) -> String {
    let handoff = &asked.handoff;
    let place = (to_console_address(handoff) != "/").then(|| {
        let intent = handoff.intent.map(|intent| format!(", to {intent}")).unwrap_or_default();
        let names = named(handoff).into_iter();
        let names: String = names.map(|(name, value)| format!(", {name} {value}")).collect();
        let place =
            format!("<p>You came to see {}{}.</p>", handoff.section, escape(&(names + &intent)));
        place + &commands(handoff)
    });
    let notices =
        asked.notices.iter().map(|notice| format!("<p>{}.</p>", escape(&notice.to_string())));
    place.into_iter().chain(notices).collect()
}

/// What shows that at the command line, which this page does not.
fn commands(handoff: &CrossSurfaceHandoff) -> String {
    let approval = handoff.approval_id.map(|id| {
        format!(
            "palyra approvals show {id}\npalyra approvals approve {id}\npalyra approvals deny {id}"
        )
    });
    let lines = [
        approval,
        handoff.run_id.map(|id| format!("palyra runs show {id}")),
        handoff.session_id.map(|id| format!("palyra sessions show {id}")),
        handoff.connector_id.as_ref().map(|id| format!("palyra channels show {id}")),
    ];
    let lines: Vec<_> = lines.into_iter().flatten().collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("<pre>{}</pre>", escape(&lines.join("\n"))),
    }
}

/// What a handoff names, by the options of `palyra dashboard`.
fn named(handoff: &CrossSurfaceHandoff) -> Vec<(&'static str, String)> {
    let text = |name, value: Option<String>| value.map(|value| (name, value));
    let all = [
        text("session", handoff.session_id.map(|id| id.to_string())),
        text("run", handoff.run_id.map(|id| id.to_string())),
        text("approval", handoff.approval_id.map(|id| id.to_string())),
        text("objective", handoff.objective_id.map(|id| id.to_string())),
        text("connector", handoff.connector_id.as_ref().map(ToString::to_string)),
        text("surface", handoff.surface_id.as_ref().map(ToString::to_string)),
    ];
    all.into_iter().flatten().collect()
}

fn page(status: StatusCode, title: &str, text: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><link rel=\"stylesheet\" href=\"/style.css\"></head>\
         <body><main><h1>{title}</h1>{text}</main></body></html>"
    );
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

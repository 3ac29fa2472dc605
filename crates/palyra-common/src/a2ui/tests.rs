//! What is told without the published files; with them: [`published`].

mod published;
mod surfaces;
mod texts;

use serde_json::{Value, json};

use super::*;

pub(super) const ID: &str = "s1";

/// A message about the surface `s1`.
pub(super) fn message(name: &str, mut body: Value) -> Value {
    body["surfaceId"] = json!(ID);
    json!({"version": VERSION, name: body})
}

pub(super) fn create() -> Value {
    message("createSurface", json!({"catalogId": BASIC_CATALOGUE}))
}

pub(super) fn components(list: Value) -> Value {
    message("updateComponents", json!({"components": list}))
}

pub(super) fn data(path: &str, value: Value) -> Value {
    message("updateDataModel", json!({"path": path, "value": value}))
}

/// What messages make of no surfaces.
pub(super) fn surfaces(messages: &[Value]) -> Result<Surfaces, Fault> {
    let mut all = Surfaces::default();
    messages.iter().try_for_each(|message| all.apply(&Message::of(message)?))?;
    Ok(all)
}

pub(super) fn surface(messages: &[Value]) -> Surface {
    surfaces(messages).unwrap().0.remove(&ID.parse().unwrap()).unwrap()
}

pub(super) fn text(id: &str, text: &str) -> Value {
    json!({"id": id, "component": "Text", "text": text})
}

#[track_caller]
fn refused(message: &Value, path: &str, wanted: &str) {
    let fault = Message::of(message).unwrap_err();
    assert_eq!(fault.path(), path, "{fault}");
    assert!(fault.wanted().contains(wanted), "{fault}");
}

#[test]
fn a_refusal_says_where_and_what_is_wanted() {
    let one = |component: Value| components(json!([component]));
    let at = "/updateComponents/components/0";
    refused(&json!([]), "", "an object");
    refused(&json!({"version": "v0.8", "deleteSurface": {"surfaceId": ID}}), "/version", "v0.9");
    refused(&json!({"version": VERSION}), "", "createSurface, updateComponents");
    refused(&message("showSurface", json!({})), "/showSurface", "deleteSurface");
    refused(&message("createSurface", json!({})), "/createSurface/catalogId", "missing");
    refused(
        &one(json!({"id": "a", "component": "Txt"})),
        &format!("{at}/component"),
        "Text, Image",
    );
    refused(&one(json!({"id": "a", "component": "Text"})), &format!("{at}/text"), "missing");
    let number = json!({"id": "a", "component": "Text", "text": 1});
    refused(&one(number), &format!("{at}/text"), "a text, a binding {\"path\": …}");
    let other = json!({"id": "a", "component": "Text", "text": "x", "colour": "red"});
    refused(&one(other), &format!("{at}/colour"), "known are text, variant");
    let short = json!({"call": "length", "args": {"value": "x"}});
    let text = json!({"id": "a", "component": "Text", "text": short});
    refused(&one(text), &format!("{at}/text/args"), "one of min, max");
    let check = json!([{"condition": {"call": "email", "args": {}}, "message": "m"}]);
    let field = json!({"id": "a", "component": "TextField", "label": "l", "checks": check});
    refused(&one(field), &format!("{at}/checks/0/condition/args/value"), "missing");
    let context = json!({"a/b": null});
    let action = json!({"event": {"name": "go", "context": context}});
    let button = json!({"id": "a", "component": "Button", "child": "b", "action": action});
    refused(&one(button), &format!("{at}/action/event/context/a~1b"), "a text, a number");
}

#[test]
fn our_limits_are_told_as_such() {
    let limit = |message: &Value, path: &str| {
        let fault = Message::of(message).unwrap_err();
        assert_eq!((fault.path(), fault.kind()), (path, FaultKind::Limit), "{fault}");
    };
    let mut named = create();
    for id in ["x".repeat(129), "two words".to_owned(), String::new()] {
        named["createSurface"]["surfaceId"] = json!(id);
        limit(&named, "/createSurface/surfaceId");
    }
    let other = message("createSurface", json!({"catalogId": "https://example.org/mine"}));
    limit(&other, "/createSurface/catalogId");
    limit(&data("/", json!("x".repeat(MAX_MESSAGE_BYTES))), "");
    let many: Vec<_> = (0..=MAX_COMPONENTS).map(|n| text(&n.to_string(), "")).collect();
    limit(&components(json!(many)), "/updateComponents/components");
    let deep = (0..MAX_NESTING).fold(json!(1), |inner, _| json!([inner]));
    limit(&data("/", deep), "");
    let fits: Vec<_> = (0..MAX_COMPONENTS).map(|n| text(&n.to_string(), "")).collect();
    Message::of(&components(json!(fits))).unwrap();
    let text = create().to_string();
    assert_eq!(Message::read(&text).unwrap(), Message::of(&create()).unwrap());
    assert_eq!(
        Message::read(&" ".repeat(MAX_MESSAGE_BYTES + 1)).unwrap_err().kind(),
        FaultKind::Limit
    );
}

#[test]
fn what_is_read_is_what_is_sent() {
    let theme = json!({"primaryColor": "#00BFFF", "mine": [1]});
    let create = json!({"catalogId": BASIC_CATALOGUE, "theme": theme, "sendDataModel": true});
    let update = components(json!([text("root", "hello")]));
    let emptied = message("updateDataModel", json!({"path": "/a"}));
    let null = data("/a", Value::Null);
    let gone = message("deleteSurface", json!({}));
    for sent in [message("createSurface", create), update, emptied, null, gone] {
        assert_eq!(Message::of(&sent).unwrap().to_value(), sent);
    }
}

//! What we take and refuse, beside what the published schema does. Its files are not part of this
//! repository: where they are not beside it, these tests say so and look at nothing.

use std::path::PathBuf;
use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::*;

/// Values that stand where others are wanted.
const OTHERS: [&str; 24] = [
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "2.0",
    "\"\"",
    "\"root\"",
    "\"h1\"",
    "\"#00BFFF\"",
    "\"https://example.org/\"",
    "\"2026-01-16\"",
    "\"14:30:00Z\"",
    "[]",
    "[\"a\"]",
    "[true, false]",
    "[[null]]",
    "{}",
    "{\"path\": \"/a\"}",
    "{\"path\": 1}",
    "{\"call\": \"not\", \"args\": {\"value\": true}}",
    "{\"call\": \"formatString\", \"args\": {\"value\": \"x\"}, \"returnType\": \"string\"}",
    "{\"call\": \"length\", \"args\": {\"value\": \"x\", \"min\": 2}, \"returnType\": \"boolean\"}",
    "{\"event\": {\"name\": \"go\", \"context\": {\"a\": {\"path\": \"b\"}}}}",
];

/// Names that stand somewhere in the schemas.
const NAMES: [&str; 22] = [
    "x",
    "id",
    "component",
    "text",
    "children",
    "child",
    "path",
    "call",
    "args",
    "returnType",
    "value",
    "min",
    "max",
    "checks",
    "weight",
    "accessibility",
    "variant",
    "theme",
    "event",
    "functionCall",
    "label",
    "surfaceId",
];

struct Published {
    schema: Validator,
    /// Messages, each of some example.
    messages: Vec<Value>,
}

static PUBLISHED: LazyLock<Option<Published>> = LazyLock::new(published);

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/a2ui/v0_9"))
}

#[allow(clippy::disallowed_methods, reason = "the files are what is tested against")]
fn file(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "the files are what is tested against")]
fn published() -> Option<Published> {
    let examples = match std::fs::read_dir(folder().join("examples")) {
        Ok(examples) => examples,
        Err(error) => {
            println!("skipped: the published schemas are not in {}: {error}", folder().display());
            return None;
        }
    };
    let schema = file("server_to_client.json");
    let (types, catalogue) = (file("common_types.json"), file("basic_catalog.json"));
    let at = |name: &str| format!("https://a2ui.org/specification/v0_9/{name}");
    // What says `catalog.json` means whichever catalogue there is.
    let mut unnamed = catalogue.clone();
    unnamed["$id"] = json!(at("catalog.json"));
    let registry = Registry::new()
        .add(at("common_types.json"), &types)
        .and_then(|registry| registry.add(at("catalogs/basic/catalog.json"), &catalogue))
        .and_then(|registry| registry.add(at("catalog.json"), &unnamed))
        .and_then(|registry| registry.prepare())
        .unwrap();
    let options = jsonschema::options().should_validate_formats(true).with_registry(&registry);
    let schema = options.build(&schema).unwrap();
    let mut messages = Vec::new();
    for example in examples {
        let name = example.unwrap().file_name();
        let example = file(&format!("examples/{}", name.to_str().unwrap()));
        messages.extend(example["messages"].as_array().unwrap().iter().cloned());
    }
    messages.extend(catalogue_in_use());
    assert!(messages.len() > 12, "{}", messages.len());
    Some(Published { schema, messages })
}

/// What no example uses: every component and function with all of its fields.
fn catalogue_in_use() -> Vec<Value> {
    let call = |name: &str, args: Value| json!({"call": name, "args": args});
    let text = call("formatString", json!({"value": "${/a}"}));
    let flags = json!([{"path": "a"}, call("regex", json!({"value": "a", "pattern": "b"}))]);
    let checks = json!([{"condition": call("or", json!({"values": flags})), "message": "m"}]);
    let number = call("numeric", json!({"value": {"path": "n"}, "max": 1.5}));
    let open = call("openUrl", json!({"url": "https://example.org/a?b#c"}));
    let plural = call(
        "pluralize",
        json!({"value": 1, "zero": "", "one": "", "two": "", "few": "",
        "many": "", "other": text}),
    );
    let options = json!([{"label": text, "value": "a"}]);
    let list = json!([
        {"id": "1", "component": "Image", "url": "u", "description": "d", "fit": "fill", "variant": "icon"},
        {"id": "2", "component": "Icon", "name": {"svgPath": "M0"}, "weight": 1},
        {"id": "3", "component": "Icon", "name": {"path": "a"}, "accessibility": {"label": "l", "x": 1}},
        {"id": "4", "component": "Video", "url": plural},
        {"id": "5", "component": "AudioPlayer", "url": "u", "description": call("formatCurrency",
            json!({"value": 1, "currency": "EUR", "decimals": 2, "grouping": false}))},
        {"id": "6", "component": "Tabs", "tabs": [{"title": "t", "child": "1"}]},
        {"id": "7", "component": "Modal", "trigger": "1", "content": "2"},
        {"id": "8", "component": "Divider", "axis": "vertical"},
        {"id": "9", "component": "Button", "child": "1", "action": {"functionCall": open}},
        {"id": "10", "component": "TextField", "label": "l", "variant": "number",
            "validationRegexp": "x", "checks": checks},
        {"id": "11", "component": "CheckBox", "label": "l", "value": number, "checks": []},
        {"id": "12", "component": "ChoicePicker", "options": options, "value": ["a"], "label": "l",
            "variant": "multipleSelection", "displayStyle": "chips", "filterable": true},
        {"id": "13", "component": "Slider", "value": 1, "max": 2, "min": 0, "label": "l"},
        {"id": "14", "component": "DateTimeInput", "value": "", "min": "2026-01-16",
            "max": {"path": "m"}, "enableDate": true, "enableTime": false},
        {"id": "15", "component": "List", "children": [], "direction": "horizontal", "align": "end"},
        {"id": "16", "component": "Text", "text": call("formatNumber",
            json!({"value": 1, "decimals": 2, "grouping": {"path": "g"}})), "variant": "h5"},
    ]);
    let theme = json!({"primaryColor": "#00BFFF", "iconUrl": "https://example.org/i", "x": 1});
    let create = json!({"catalogId": BASIC_CATALOGUE, "theme": theme, "sendDataModel": false});
    vec![
        message("createSurface", create),
        components(list),
        data("/a", json!([{"b": null}])),
        message("deleteSurface", json!({})),
    ]
}

#[test]
fn every_example_is_valid() {
    let Some(published) = &*PUBLISHED else { return };
    for message in &published.messages {
        assert!(published.schema.is_valid(message), "{message}");
        let ours = Message::of(message).unwrap_or_else(|fault| panic!("{fault}: {message}"));
        assert_eq!(&ours.to_value(), message);
    }
}

/// Each example as a whole, in order: what it shows, and whoever comes later sees the same.
#[test]
#[allow(clippy::disallowed_methods, reason = "the files are what is tested against")]
fn every_example_is_shown() {
    if PUBLISHED.is_none() {
        return;
    }
    for example in std::fs::read_dir(folder().join("examples")).unwrap() {
        let name = example.unwrap().file_name();
        let example = file(&format!("examples/{}", name.to_str().unwrap()));
        let all = surfaces(example["messages"].as_array().unwrap()).unwrap();
        let (id, surface) = all.0.first_key_value().unwrap();
        assert!(render(surface).lines().count() > 1, "{name:?}: {}", render(surface));
        let snapshot: Vec<_> = surface.snapshot(id).iter().map(Message::to_value).collect();
        assert_eq!(surfaces(&snapshot).unwrap(), all, "{name:?}");
    }
}

/// The places in a value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| places(item, &format!("{at}/{n}"), found));
        }
        Value::Object(map) => {
            for (key, item) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(item, &format!("{at}/{key}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn parent(place: &str) -> &str {
    place.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[derive(Debug, Clone)]
enum Mutation {
    Replace(&'static str),
    Remove,
    Add(&'static str, &'static str),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        3 => prop::sample::select(&OTHERS[..]).prop_map(Mutation::Replace),
        2 => Just(Mutation::Remove),
        2 => (prop::sample::select(&NAMES[..]), prop::sample::select(&OTHERS[..]))
            .prop_map(|(name, value)| Mutation::Add(name, value)),
    ]
}

/// Changes a message at a place; says where it is otherwise now.
fn mutate(message: &mut Value, place: &str, mutation: &Mutation) -> String {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    match mutation {
        Mutation::Replace(other) => *message.pointer_mut(place).unwrap() = value(other),
        Mutation::Remove => {
            let (_, last) = place.rsplit_once('/').unwrap_or_default();
            match message.pointer_mut(parent(place)).unwrap() {
                Value::Object(map) => drop(map.remove(&last.replace("~1", "/").replace("~0", "~"))),
                Value::Array(list) => {
                    list.remove(last.parse().unwrap());
                    return parent(place).to_owned();
                }
                _ => {}
            }
        }
        Mutation::Add(name, other) => match message.pointer_mut(place).unwrap() {
            Value::Object(map) => {
                map.insert((*name).to_owned(), value(other));
                return format!("{place}/{name}");
            }
            Value::Array(list) => {
                list.push(value(other));
                return format!("{place}/{}", list.len() - 1);
            }
            other_place => *other_place = value(other),
        },
    }
    place.to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever the published schema refuses we refuse, and say where; what it takes we take, but for
    /// limits of our own.
    #[test]
    fn a_changed_example_is_judged_as_published(
        which: Index,
        place: Index,
        mutation in mutation(),
    ) {
        let Some(published) = &*PUBLISHED else { return Ok(()) };
        let mut changed = which.get(&published.messages).clone();
        let mut all = Vec::new();
        places(&changed, "", &mut all);
        let place = mutate(&mut changed, place.get::<String>(&all), &mutation);
        match (published.schema.is_valid(&changed), Message::of(&changed)) {
            (true, Ok(ours)) => prop_assert_eq!(ours.to_value(), changed),
            (true, Err(fault)) => {
                prop_assert_eq!(fault.kind(), FaultKind::Limit, "{}: {}", fault, changed);
            }
            (false, Ok(_)) => prop_assert!(false, "taken after {place} was changed: {changed}"),
            (false, Err(fault)) => {
                // The fault is where the change is, or in what stands beside it and depends on it.
                let at = fault.path();
                let is_there = at.starts_with(parent(&place)) || place.starts_with(at);
                prop_assert!(is_there, "{fault}, but {place} was changed: {changed}");
                prop_assert!(changed.pointer(parent(at)).is_some(), "{fault}: there is no such place");
            }
        }
    }
}

#[test]
fn texts_of_a_form_are_judged_as_published() {
    let Some(published) = &*PUBLISHED else { return };
    let moments = [
        "2026-01-16",
        "2026-02-29",
        "2024-02-29",
        "0000-01-01",
        "2026-1-1",
        "2026-13-01",
        "14:30:00Z",
        "14:30:00",
        "14:30Z",
        "24:00:00Z",
        "23:59:60Z",
        "22:59:60Z",
        "22:59:60-01:00",
        "10:00:00.5+02:00",
        "10:00:00.Z",
        "10:00:00+2:00",
        "2026-01-16T14:30:00Z",
        "2026-01-16t14:30:00z",
        "2026-01-16 14:30:00Z",
        "",
        "x",
        "ä026-01-16",
        "2026-01-16T14:30:00+24:00",
    ];
    let uris = [
        "https://example.org/",
        "mailto:a@b",
        "urn:x:y",
        "example.org",
        "//host",
        "https://",
        "http://[::1]:80/x",
        "http://[::x]/",
        "http://a:b/",
        "http://u@h:80",
        "a b:c",
        "http://a/ b",
        "http://a/%2",
        "http://a/%20?#",
        "1a:b",
        "",
        ":",
        "http://a/\u{e4}",
        "http://a?b#c#d",
        "data:,x",
    ];
    let picker =
        |min: &str| json!([{"id": "a", "component": "DateTimeInput", "value": "", "min": min}]);
    let messages = moments.map(|min| components(picker(min))).into_iter();
    let themed = |uri: &str| json!({"catalogId": BASIC_CATALOGUE, "theme": {"iconUrl": uri}});
    for message in messages.chain(uris.map(|uri| message("createSurface", themed(uri)))) {
        let published = published.schema.is_valid(&message);
        assert_eq!(Message::of(&message).is_ok(), published, "{message}");
    }
}

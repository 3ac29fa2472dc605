//! Surfaces as text.

use serde_json::json;

use super::*;

/// The text of these components with this data.
#[track_caller]
fn check(list: Value, values: Value, expected: &str) {
    let surface = surface(&[create(), components(list), data("/", values)]);
    assert_eq!(render(&surface), expected);
}

#[test]
fn a_card_is_told_line_by_line() {
    let field = |label: &str, value: &str| Field { label: label.into(), value: value.into() };
    let card = Card {
        title: "Harbour".into(),
        text: "Two boats\nare due.".into(),
        fields: vec![field("Wind", "4 Bft"), field("Tide", "low")],
        inputs: vec![Input { name: "when".into(), label: "When".into(), value: String::new() }],
        buttons: vec![
            Button { label: "Open".into(), action: "open".into(), context: serde_json::Map::new() },
            Button {
                label: "Close".into(),
                action: "close".into(),
                context: serde_json::Map::new(),
            },
        ],
    };
    let messages = card.messages(&ID.parse().unwrap()).unwrap();
    let values: Vec<_> = messages.iter().map(Message::to_value).collect();
    let expected =
        "Harbour\nTwo boats\nare due.\nWind:  4 Bft\nTide:  low\nWhen: ____\n[Open]  [Close]";
    assert_eq!(render(&surface(&values)), expected);
}

#[test]
fn every_component_says_something() {
    let of = |id: &str, name: &str, mut fields: Value| {
        fields["id"] = json!(id);
        fields["component"] = json!(name);
        fields
    };
    let options = json!([{"label": "A", "value": "a"}, {"label": "B", "value": "b"}]);
    let children = ["i", "v", "u", "d", "f", "p", "c", "k", "s", "w", "t", "m", "n"];
    let list = json!([
        of("root", "Column", json!({"children": children})),
        of("i", "Image", json!({"url": "https://example.org/a.png", "description": "a boat"})),
        of("v", "Video", json!({"url": "https://example.org/v"})),
        of("u", "AudioPlayer", json!({"url": ""})),
        of("d", "Divider", json!({})),
        of("f", "TextField", json!({"label": "Name", "value": {"path": "/name"}})),
        of(
            "p",
            "TextField",
            json!({"label": "Pass", "value": {"path": "/name"}, "variant": "obscured"})
        ),
        of("c", "CheckBox", json!({"label": "Yes", "value": {"path": "/yes"}})),
        of(
            "k",
            "ChoicePicker",
            json!({"label": "Which", "options": options, "value": {"path": "/chosen"}})
        ),
        of("s", "Slider", json!({"label": "Speed", "value": 3, "max": 9})),
        of("w", "DateTimeInput", json!({"label": "At", "value": "2026-01-16"})),
        of("t", "Tabs", json!({"tabs": [{"title": "One", "child": "x"}]})),
        of("m", "Modal", json!({"trigger": "x", "content": "x"})),
        of("n", "Icon", json!({"name": "star", "accessibility": {"label": "Favourite"}})),
        text("x", "inside"),
    ]);
    let expected = "[image: a boat, https://example.org/a.png]\n[video: https://example.org/v]\n\
        [audio]\n---\nName: Ann\nPass: ••••\n[x] Yes\nWhich:\n( ) A\n(x) B\nSpeed: 3 (0–9)\n\
        At: 2026-01-16\nOne:\n  inside\ninside\n  inside\n(Favourite)";
    check(list, json!({"name": "Ann", "yes": true, "chosen": ["b"]}), expected);
}

#[test]
fn a_list_repeats_its_template_for_each_item() {
    let list = json!([
        {"id": "root", "component": "List", "children": {"componentId": "item", "path": "/items"}},
        {"id": "item", "component": "Column", "children": ["name", "parts"]},
        {"id": "name", "component": "Text", "text": {"path": "name"}},
        {"id": "parts", "component": "List", "children": {"componentId": "part", "path": "parts"}},
        {"id": "part", "component": "Text", "text": {"path": "n"}},
    ]);
    let items = json!({"items": [{"name": "a", "parts": [{"n": 1}, {"n": 2}]}, {"name": "b"}]});
    check(list, items, "- a\n  - 1\n  - 2\n- b");
}

#[test]
fn functions_give_what_can_be_told_without_a_client() {
    let told = |call: &str, args: Value, expected: &str| {
        let text = json!({"id": "root", "component": "Text", "text": {"call": call, "args": args}});
        check(json!([text]), json!({"n": 1234.5, "one": 1, "name": "Ann"}), expected);
    };
    told("formatNumber", json!({"value": {"path": "/n"}, "decimals": 2}), "1,234.50");
    told("formatNumber", json!({"value": -1_234_567, "grouping": false}), "-1234567");
    told("formatNumber", json!({"value": -1_234_567}), "-1,234,567");
    told("formatCurrency", json!({"value": 12, "currency": "EUR"}), "12.00 EUR");
    told("pluralize", json!({"value": {"path": "/one"}, "one": "boat", "other": "boats"}), "boat");
    told("pluralize", json!({"value": 2, "one": "boat", "other": "boats"}), "boats");
    told("formatDate", json!({"value": "2026-01-16", "format": "d MMM"}), "2026-01-16");
    told("formatString", json!({"value": "Hi ${/name}, ${now()} \\${x}"}), "Hi Ann, … ${x}");
    told("formatString", json!({"value": "open ${/name"}), "open …");
    told("and", json!({"values": [true, {"call": "not", "args": {"value": false}}]}), "true");
    told("required", json!({"value": {"path": "/nothing"}}), "false");
    told("email", json!({"value": "x"}), "");
}

/// However large the data is and however often a list is repeated.
#[test]
fn what_is_told_is_bounded() {
    let list = json!([
        {"id": "root", "component": "List", "children": {"componentId": "row", "path": "/l"}},
        {"id": "row", "component": "List", "children": {"componentId": "name", "path": "/l"}},
        {"id": "name", "component": "Text", "text": "word word word"},
    ]);
    let items = json!({"l": vec![0; 5_000]});
    let surface = surface(&[create(), components(list), data("/", items)]);
    let told = render(&surface);
    assert!(
        told.len() < 40_000 && told.ends_with('…'),
        "{} {}",
        told.len(),
        &told[told.len() - 50..]
    );
}

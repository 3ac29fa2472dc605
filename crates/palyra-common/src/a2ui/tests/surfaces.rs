//! What messages make of surfaces.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn refused(messages: &[Value], path: &str, wanted: &str) {
    let (last, before) = messages.split_last().unwrap();
    let mut all = surfaces(before).unwrap();
    let untouched = all.clone();
    let fault = all.apply(&Message::of(last).unwrap()).unwrap_err();
    assert_eq!(fault.path(), path, "{fault}");
    assert!(fault.wanted().contains(wanted), "{fault}");
    assert_eq!(all, untouched, "what is refused changes nothing");
}

#[test]
fn components_are_merged_by_their_ids() {
    let column =
        |children: &[&str]| json!({"id": "root", "component": "Column", "children": children});
    let surface = surface(&[
        create(),
        components(json!([column(&["a"]), text("a", "loading")])),
        components(json!([column(&["a", "b"]), text("b", "two")])),
        components(json!([text("a", "one")])),
    ]);
    assert_eq!(render(&surface), "one\ntwo");
    assert_eq!(surface.component("a").unwrap()["text"], "one");
}

#[test]
fn data_is_changed_by_pointers() {
    let after = |changes: &[Value]| {
        let messages: Vec<_> = std::iter::once(create()).chain(changes.iter().cloned()).collect();
        surface(&messages).data().clone()
    };
    let gone = |path: &str| message("updateDataModel", json!({ "path": path }));
    assert_eq!(after(&[]), json!({}));
    assert_eq!(
        after(&[data("/a/b", json!(1)), data("/a/c", json!(2))]),
        json!({"a": {"b": 1, "c": 2}})
    );
    assert_eq!(after(&[data("/a~1b/~0", json!(1))]), json!({"a/b": {"~": 1}}));
    assert_eq!(
        after(&[data("/l/0/n", json!(1)), data("/l/1", json!(2))]),
        json!({"l": [{"n": 1}, 2]})
    );
    assert_eq!(
        after(&[data("/", json!({"x": 1})), data("/y", json!(null))]),
        json!({"x": 1, "y": null})
    );
    assert_eq!(
        after(&[data("/", json!({"x": 1, "y": 2})), gone("/x"), gone("/z/0")]),
        json!({"y": 2})
    );
    assert_eq!(after(&[data("/l", json!([1, 2])), gone("/l/0")]), json!({"l": [null, 2]}));
    let all = message("updateDataModel", json!({}));
    assert_eq!(after(&[data("/x", json!(1)), all]), json!({}));
    let at = "/updateDataModel/path";
    refused(&[create(), data("/x", json!(1)), data("/x/y", json!(1))], at, "no place \"y\"");
    refused(&[create(), data("/x", json!([])), data("/x/7", json!(1))], at, "no place \"7\"");
    refused(&[create(), data(&"/a".repeat(40), json!(1))], at, "at most 32 parts");
    let deep = (0..20).fold(json!(1), |inner, _| json!([inner]));
    let at = "/updateDataModel/value";
    refused(&[create(), data(&"/a".repeat(20), deep)], at, "at most 30 deep");
}

#[test]
fn what_does_not_fit_what_is_there_is_refused() {
    refused(&[create(), create()], "/createSurface/surfaceId", "delete it first");
    let gone = message("deleteSurface", json!({}));
    refused(std::slice::from_ref(&gone), "/deleteSurface/surfaceId", "create it first");
    refused(
        &[create(), gone, data("/", json!(1))],
        "/updateDataModel/surfaceId",
        "create it first",
    );
    refused(
        &[components(json!([text("a", "")]))],
        "/updateComponents/surfaceId",
        "create it first",
    );
    let named = |n: usize| {
        let mut message = create();
        message["createSurface"]["surfaceId"] = json!(format!("s{n}"));
        message
    };
    let many: Vec<_> = (0..=MAX_SURFACES).map(named).collect();
    refused(&many, "/createSurface", "at most 16 surfaces");
    // Whoever is refused can choose.
    refused(&many, "/createSurface", "s0, s1, s10, s11, s12, s13, s14, s15, s2, s3");
}

#[test]
fn a_surface_has_limits() {
    let at = "/updateComponents/components";
    let half = |from: usize| {
        let texts: Vec<_> = (from..from + 300).map(|n| text(&n.to_string(), "")).collect();
        components(json!(texts))
    };
    refused(&[create(), half(0), half(300)], at, "at most 512 components");
    surface(&[create(), half(0), half(200)]);
    let large = |id: &str| components(json!([text(id, &"x".repeat(MAX_MESSAGE_BYTES / 2))]));
    refused(&[create(), large("a"), large("b")], at, "more than");
    surface(&[create(), large("a"), large("a")]);
    let large = |at: &str| data(at, json!("x".repeat(MAX_MESSAGE_BYTES / 2)));
    refused(&[create(), large("/a"), large("/b")], "/updateDataModel/value", "more than");
    let card = |n: usize| {
        let child = format!("c{}", n + 1);
        json!({"id": format!("c{n}"), "component": "Card", "child": child})
    };
    let chain = |length: usize| components(json!((0..length).map(card).collect::<Vec<_>>()));
    surface(&[create(), chain(MAX_NESTING)]);
    refused(&[create(), chain(MAX_NESTING + 1)], at, "at most 32 deep");
    let back =
        json!({"id": "c9", "component": "List", "children": {"componentId": "c0", "path": "/"}});
    refused(&[create(), chain(9), components(json!([back]))], at, "not in a circle");
}

/// Where the end of a circle comes later, or many ways lead through the same components.
#[test]
fn a_tangle_is_looked_at_once() {
    let id = |n: usize| if n == 0 { "root".to_owned() } else { format!("r{n}") };
    let row = |n: usize| {
        let below: Vec<_> = (n + 1..=30).map(id).collect();
        json!({"id": id(n), "component": "Row", "children": below})
    };
    let rows: Vec<_> = (0..=30).map(row).collect();
    let surface = surface(&[create(), components(json!(rows))]);
    assert!(render(&surface).len() < 100);
}

prop_compose! {
    fn change()(
        kind in 0..4_u8,
        id in "[a-d]",
        children in prop::collection::vec("[a-d]", 0..3),
        path in "(/[a-c0-2]){0,3}",
        value in 0..100_u8,
    ) -> Value {
        match kind {
            0 => components(json!([text(&id, "x")])),
            1 => components(json!([{"id": id, "component": "Row", "children": children}])),
            2 => data(&path, json!({"n": value, "l": [value]})),
            _ => message("updateDataModel", json!({"path": path})),
        }
    }
}

proptest! {
    /// Whoever comes later sees the same.
    #[test]
    fn a_snapshot_makes_the_surface_again(changes in prop::collection::vec(change(), 0..12)) {
        let mut all = surfaces(&[create()]).unwrap();
        for change in &changes {
            // Some do not fit.
            let _ = all.apply(&Message::of(change).unwrap());
        }
        let (id, surface) = all.0.first_key_value().unwrap();
        let snapshot: Vec<_> = surface.snapshot(id).iter().map(Message::to_value).collect();
        prop_assert_eq!(&surfaces(&snapshot).unwrap(), &all);
        let kept = serde_json::to_string(surface).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Surface>(&kept).unwrap(), surface);
    }

    #[test]
    fn a_card_is_always_valid(
        texts in prop::array::uniform4(".{0,40}"),
        names in prop::collection::vec("[a-z/~ ]{1,8}", 0..4),
        flag: bool,
    ) {
        let [title, text, label, value] = texts;
        let input = |name: &String| Input {
            name: name.clone(), label: label.clone(), value: value.clone(),
        };
        let button = |name: &String| Button {
            label: label.clone(),
            action: name.clone(),
            context: [("n".to_owned(), json!(1)), ("f".to_owned(), json!(flag))].into_iter().collect(),
        };
        let card = Card {
            title,
            text,
            fields: names.iter().map(|_| Field { label: label.clone(), value: value.clone() }).collect(),
            inputs: names.iter().map(input).collect(),
            buttons: names.iter().map(button).collect(),
        };
        let mut all = Surfaces::default();
        for message in card.messages(&ID.parse().unwrap()).unwrap() {
            prop_assert!(all.apply(&message).is_ok());
        }
        // What is filled in is what a button tells, whatever it is called.
        let surface = &all.0[&ID.parse().unwrap()];
        for name in &names {
            let path = format!("/inputs/{}", name.replace('~', "~0").replace('/', "~1"));
            prop_assert_eq!(data_at(surface, &path), Some(json!(value.clone())));
        }
    }
}

fn data_at(surface: &Surface, path: &str) -> Option<Value> {
    data::get(surface.data(), path).cloned()
}

#[test]
fn an_action_is_one_that_the_surface_offers() {
    let button =
        Button { label: "Go".into(), action: "go".into(), context: serde_json::Map::new() };
    let card = Card { title: "T".into(), buttons: vec![button], ..Card::default() };
    let messages = card.messages(&ID.parse().unwrap()).unwrap();
    let values: Vec<_> = messages.iter().map(Message::to_value).collect();
    let surface = surface(&values);
    let action = |change: fn(&mut Value)| {
        let mut action = json!({
            "name": "go", "surfaceId": ID, "sourceComponentId": "button-0",
            "timestamp": "2026-01-16T14:30:00Z", "context": {"n": 1},
        });
        change(&mut action);
        serde_json::from_value::<UserAction>(action).unwrap()
    };
    action(|_| ()).check(&surface).unwrap();
    let text = action(|_| ()).text();
    let said =
        "[Action \"go\" of \"button-0\" on the surface s1, at 2026-01-16T14:30:00Z]\n{\"n\":1}";
    assert_eq!(text, said);
    let refused = |change: fn(&mut Value), path: &str| {
        assert_eq!(action(change).check(&surface).unwrap_err().path(), path);
    };
    refused(|action| action["name"] = json!("stop"), "/name");
    refused(|action| action["name"] = json!("x".repeat(200)), "/name");
    refused(|action| action["sourceComponentId"] = json!("button-1"), "/sourceComponentId");
    refused(|action| action["sourceComponentId"] = json!("title"), "/name");
    refused(|action| action["timestamp"] = json!("yesterday"), "/timestamp");
    refused(|action| action["context"] = json!({"x": "x".repeat(70_000)}), "/context");
}

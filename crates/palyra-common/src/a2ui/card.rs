//! A card: what most agents want to show, in few words.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::Fault;
use super::message::Message;
use super::{BASIC_CATALOGUE, ROOT, VERSION};
use crate::ids::SurfaceId;

/// A title, a text, facts, what can be filled in and what can be done.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Card {
    /// What stands above the rest.
    pub title: String,
    /// What is said in it.
    pub text: String,
    /// Facts, one below the other.
    pub fields: Vec<Field>,
    /// What can be filled in.
    pub inputs: Vec<Input>,
    /// What can be done.
    pub buttons: Vec<Button>,
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// What it is about.
    pub label: String,
    /// The fact.
    pub value: String,
}

/// A line to be filled in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is called in the context of the buttons.
    pub name: String,
    /// What is asked for.
    pub label: String,
    /// What stands there already.
    #[serde(default)]
    pub value: String,
}

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// The name of its action.
    pub action: String,
    /// What the action is told besides what was filled in: texts, numbers, true or false, lists.
    #[serde(default)]
    pub context: Map<String, Value>,
}

impl Card {
    /// The messages that show this card as a surface that is not there yet.
    pub fn messages(&self, surface: &SurfaceId) -> Result<Vec<Message>, Fault> {
        let surface = surface.as_str();
        let mut messages = vec![
            json!({"createSurface": {"surfaceId": surface, "catalogId": BASIC_CATALOGUE}}),
            json!({"updateComponents": {"surfaceId": surface, "components": self.components()}}),
        ];
        if !self.inputs.is_empty() {
            let value = |input: &Input| (input.name.clone(), json!(input.value));
            let values: Map<_, _> = self.inputs.iter().map(value).collect();
            let value = json!({ INPUTS: values });
            messages.push(json!({"updateDataModel": {"surfaceId": surface, "value": value}}));
        }
        let message = |mut message: Value| {
            message["version"] = json!(VERSION);
            Message::of(&message)
        };
        messages.into_iter().map(message).collect()
    }

    fn components(&self) -> Vec<Value> {
        let (mut all, mut children) = (Vec::new(), Vec::new());
        let texts = [("title", &self.title, "h3"), ("text", &self.text, "body")];
        for (id, text, variant) in texts.into_iter().filter(|(_, text, _)| !text.is_empty()) {
            all.push(text_of(id, text, variant));
            children.push(id.to_owned());
        }
        for (n, Field { label, value }) in self.fields.iter().enumerate() {
            let [id, label_id, value_id] =
                ["", "-label", "-value"].map(|of| format!("field-{n}{of}"));
            all.push(text_of(&label_id, &format!("{label}:"), "caption"));
            all.push(text_of(&value_id, value, "body"));
            all.push(json!({"id": id, "component": "Row", "children": [label_id, value_id]}));
            children.push(id);
        }
        for (n, Input { name, label, .. }) in self.inputs.iter().enumerate() {
            let id = format!("input-{n}");
            let value = binding(name);
            all.push(json!({"id": id, "component": "TextField", "label": label, "value": value}));
            children.push(id);
        }
        if !self.buttons.is_empty() {
            let ids: Vec<_> = (0..self.buttons.len()).map(|n| format!("button-{n}")).collect();
            for (id, button) in ids.iter().zip(&self.buttons) {
                all.extend(self.button(id, button));
            }
            all.push(json!({"id": "buttons", "component": "Row", "children": ids}));
            children.push("buttons".to_owned());
        }
        all.push(json!({"id": "content", "component": "Column", "children": children}));
        all.push(json!({"id": ROOT, "component": "Card", "child": "content"}));
        all
    }

    fn button(&self, id: &str, button: &Button) -> [Value; 2] {
        let label = format!("{id}-label");
        let mut context = button.context.clone();
        for Input { name, .. } in &self.inputs {
            context.insert(name.clone(), binding(name));
        }
        let action = json!({"event": {"name": button.action, "context": context}});
        [
            text_of(&label, &button.label, "body"),
            json!({"id": id, "component": "Button", "child": label, "action": action}),
        ]
    }
}

const INPUTS: &str = "inputs";

fn binding(input: &str) -> Value {
    json!({"path": format!("/{INPUTS}/{}", input.replace('~', "~0").replace('/', "~1"))})
}

fn text_of(id: &str, text: &str, variant: &str) -> Value {
    json!({"id": id, "component": "Text", "text": text, "variant": variant})
}

//! The four messages, and whether a value is one of them.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::catalogue::{self, CHECKS, COMMON, COMPONENTS, Kind};
use super::fault::Fault;
use super::shape::{self, Field, Shape, may, must};
use super::{
    BASIC_CATALOGUE, MAX_COMPONENTS, MAX_ID_BYTES, MAX_MESSAGE_BYTES, MAX_NESTING, VERSION,
};
use crate::ids::SurfaceId;

/// A message that is valid by itself. Whether it fits a surface is seen where it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The surface that it is about.
    pub surface: SurfaceId,
    /// What is done to it.
    pub change: Change,
}

/// What a message does to its surface.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Makes it.
    Create {
        /// What it is to look like.
        theme: Option<Map<String, Value>>,
        /// Whether a client sends the whole data model with what it sends.
        send_data_model: Option<bool>,
    },
    /// Adds components, or puts them in the place of those of the same ids.
    Components(Vec<Component>),
    /// Changes its data.
    Data(DataChange),
    /// Takes it away.
    Delete,
}

/// A component of the basic catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its id within the surface.
    pub id: String,
    /// All of it, the id included.
    pub fields: Map<String, Value>,
}

/// A change of data.
#[derive(Debug, Clone, PartialEq)]
pub struct DataChange {
    /// Where; nothing: all of it.
    pub path: Option<String>,
    /// What is there from now on; nothing: it is taken away.
    pub value: Option<Value>,
}

const CREATE: &[Field] = &[
    must("surfaceId", Shape::Text),
    must("catalogId", Shape::Text),
    may("theme", catalogue::THEME),
    may("sendDataModel", Shape::Flag),
];
const COMPONENTS_OF: &[Field] = &[
    must("surfaceId", Shape::Text),
    must("components", Shape::List { of: &Shape::Anything, least: 1 }),
];
const DATA: &[Field] =
    &[must("surfaceId", Shape::Text), may("path", Shape::Text), may("value", Shape::Anything)];
const DELETE: &[Field] = &[must("surfaceId", Shape::Text)];

impl Message {
    /// Reads a message from its JSON.
    pub fn read(text: &str) -> Result<Self, Fault> {
        if text.len() > MAX_MESSAGE_BYTES {
            return Err(too_long());
        }
        let wrong = |error| Fault::shape(format!("JSON is expected: {error}"));
        Self::checked(serde_json::from_str(text).map_err(wrong)?)
    }

    /// Reads a message from a value.
    pub fn of(value: &Value) -> Result<Self, Fault> {
        if bytes(value) > MAX_MESSAGE_BYTES {
            return Err(too_long());
        }
        Self::checked(value.clone())
    }

    fn checked(value: Value) -> Result<Self, Fault> {
        if is_deeper(&value, MAX_NESTING) {
            return Err(Fault::limit(format!("values are at most {MAX_NESTING} deep")));
        }
        let Value::Object(mut map) = value else {
            return Err(Fault::shape("an object is expected"));
        };
        match map.remove("version") {
            Some(version) if version == VERSION => {}
            Some(_) => {
                return Err(Fault::shape(format!("\"{VERSION}\" is expected")).under("version"));
            }
            None => return Err(Fault::shape("it is missing").under("version")),
        }
        let mut found = map.into_iter();
        let (Some((name, body)), None) = (found.next(), found.next()) else {
            return Err(Fault::shape(format!("exactly one of {NAMES} is expected")));
        };
        let change = change(&name, body).map_err(|fault| fault.under(&name));
        let (surface, change) = change?;
        Ok(Self { surface, change })
    }

    /// The message as it is sent.
    pub fn to_value(&self) -> Value {
        let (surface, change) = (self.surface.as_str(), &self.change);
        let (name, body) = match change {
            Change::Create { theme, send_data_model } => {
                let mut body = json!({"surfaceId": surface, "catalogId": BASIC_CATALOGUE});
                if let Some(theme) = theme {
                    body["theme"] = Value::Object(theme.clone());
                }
                if let Some(send) = send_data_model {
                    body["sendDataModel"] = Value::Bool(*send);
                }
                ("createSurface", body)
            }
            Change::Components(components) => {
                let list: Vec<_> = components.iter().map(|of| &of.fields).collect();
                ("updateComponents", json!({"surfaceId": surface, "components": list}))
            }
            Change::Data(DataChange { path, value }) => {
                let mut body = json!({"surfaceId": surface});
                if let Some(path) = path {
                    body["path"] = Value::String(path.clone());
                }
                if let Some(value) = value {
                    body["value"] = value.clone();
                }
                ("updateDataModel", body)
            }
            Change::Delete => ("deleteSurface", json!({"surfaceId": surface})),
        };
        json!({"version": VERSION, name: body})
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

const NAMES: &str = "createSurface, updateComponents, updateDataModel, deleteSurface";

fn change(name: &str, body: Value) -> Result<(SurfaceId, Change), Fault> {
    let fields = match name {
        "createSurface" => CREATE,
        "updateComponents" => COMPONENTS_OF,
        "updateDataModel" => DATA,
        "deleteSurface" => DELETE,
        _ => return Err(Fault::shape(format!("one of {NAMES} is expected"))),
    };
    shape::object(fields, &body)?;
    let Value::Object(mut body) = body else { return Err(Fault::shape("an object is expected")) };
    let surface = surface_id(&body)?;
    let change = match name {
        "createSurface" => {
            if body.get("catalogId").is_none_or(|id| id != BASIC_CATALOGUE) {
                let what = format!("only the basic catalogue is known: \"{BASIC_CATALOGUE}\"");
                return Err(Fault::limit(what).under("catalogId"));
            }
            let theme = body.remove("theme").and_then(|theme| match theme {
                Value::Object(theme) => Some(theme),
                _ => None,
            });
            let send_data_model = body.get("sendDataModel").and_then(Value::as_bool);
            Change::Create { theme, send_data_model }
        }
        "updateComponents" => {
            let list = body.remove("components").unwrap_or_default();
            Change::Components(components(list).map_err(|fault| fault.under("components"))?)
        }
        "updateDataModel" => {
            let path = body.get("path").and_then(Value::as_str).map(str::to_owned);
            Change::Data(DataChange { path, value: body.remove("value") })
        }
        _ => Change::Delete,
    };
    Ok((surface, change))
}

fn surface_id(body: &Map<String, Value>) -> Result<SurfaceId, Fault> {
    let id = body.get("surfaceId").and_then(Value::as_str).unwrap_or_default();
    id.parse().map_err(|error| Fault::limit(format!("{error}")).under("surfaceId"))
}

fn components(list: Value) -> Result<Vec<Component>, Fault> {
    let Value::Array(list) = list else { return Err(Fault::shape("a list is expected")) };
    if list.len() > MAX_COMPONENTS {
        return Err(Fault::limit(format!("at most {MAX_COMPONENTS} components are taken")));
    }
    let component = |(n, value)| component(value).map_err(|fault| fault.under(n));
    list.into_iter().enumerate().map(component).collect()
}

fn component(value: Value) -> Result<Component, Fault> {
    let Value::Object(fields) = value else { return Err(Fault::shape("an object is expected")) };
    let name = fields.get("component").and_then(Value::as_str);
    let kind = name.and_then(catalogue::component).ok_or_else(|| {
        let names: Vec<_> = COMPONENTS.iter().map(|kind| kind.name).collect();
        let what = format!("the name of a component is expected: {}", names.join(", "));
        Fault::shape(what).under("component")
    })?;
    kind.check(&fields)?;
    let id = fields.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if id.len() > MAX_ID_BYTES {
        let what = format!("an id has at most {MAX_ID_BYTES} bytes");
        return Err(Fault::limit(what).under("id"));
    }
    Ok(Component { id, fields })
}

impl Kind {
    /// All fields that a component of this kind can have.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Field> + Clone {
        let checks = self.has_checks.then_some(&CHECKS);
        self.fields.iter().chain(COMMON).chain(checks)
    }

    fn check(&self, fields: &Map<String, Value>) -> Result<(), Fault> {
        shape::fields_of(self.all(), fields)
    }
}

fn too_long() -> Fault {
    Fault::limit(format!("a message has at most {MAX_MESSAGE_BYTES} bytes"))
}

/// Whether a value has more levels than this.
pub(super) fn is_deeper(value: &Value, most: usize) -> bool {
    let is_inner = |inner: &Value| most == 0 || is_deeper(inner, most - 1);
    match value {
        Value::Array(list) => most == 0 || list.iter().any(is_inner),
        Value::Object(map) => most == 0 || map.values().any(is_inner),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// How long the JSON of a value is.
pub(super) fn bytes(value: &impl Serialize) -> usize {
    struct Counted(usize);
    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        // What cannot be written is too long for any limit.
        Err(_) => usize::MAX,
    }
}

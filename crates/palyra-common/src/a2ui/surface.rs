//! What a surface is by the messages about it so far.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fault::Fault;
use super::message::{Change, Component, DataChange, Message, bytes, is_deeper};
use super::{MAX_COMPONENTS, MAX_MESSAGE_BYTES, MAX_NESTING, MAX_SURFACES, catalogue, data};
use crate::ids::SurfaceId;

/// The surfaces of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surfaces(pub BTreeMap<SurfaceId, Surface>);

/// A surface as it is now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    theme: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    send_data_model: Option<bool>,
    /// By their ids.
    components: BTreeMap<String, Map<String, Value>>,
    data: Value,
}

impl Surfaces {
    /// Applies a message. Where it is refused, nothing is changed.
    pub fn apply(&mut self, message: &Message) -> Result<(), Fault> {
        let Message { surface: id, change } = message;
        let there = self.0.get(id);
        match (change, there) {
            (Change::Create { .. }, Some(_)) => {
                let what =
                    format!("there is a surface {id} already: delete it first, or update it");
                Err(Fault::limit(what).under("surfaceId").under("createSurface"))
            }
            (Change::Create { .. }, None) if self.0.len() >= MAX_SURFACES => {
                let there: Vec<_> = self.0.keys().map(SurfaceId::as_str).collect();
                let what = format!(
                    "a session has at most {MAX_SURFACES} surfaces: delete one of these first, or \
                     show this in its place: {}",
                    there.join(", ")
                );
                Err(Fault::limit(what).under("createSurface"))
            }
            (Change::Create { theme, send_data_model }, None) => {
                let (theme, send_data_model) = (theme.clone(), *send_data_model);
                let data = Value::Object(Map::new());
                let made = Surface { theme, send_data_model, data, ..Surface::default() };
                self.0.insert(id.clone(), made);
                Ok(())
            }
            (Change::Components(components), Some(before)) => {
                let after = before.with(components);
                let after =
                    after.map_err(|fault| fault.under("components").under("updateComponents"));
                self.0.insert(id.clone(), after?);
                Ok(())
            }
            (Change::Data(change), Some(before)) => {
                let after = before.with_data(change);
                let after = after.map_err(|fault| fault.under("updateDataModel"));
                self.0.insert(id.clone(), after?);
                Ok(())
            }
            (Change::Delete, Some(_)) => {
                self.0.remove(id);
                Ok(())
            }
            (Change::Components(_), None) => Err(none(id, "updateComponents")),
            (Change::Data(_), None) => Err(none(id, "updateDataModel")),
            (Change::Delete, None) => Err(none(id, "deleteSurface")),
        }
    }
}

impl Surface {
    /// The messages that make this surface again.
    pub fn snapshot(&self, id: &SurfaceId) -> Vec<Message> {
        let (theme, send_data_model) = (self.theme.clone(), self.send_data_model);
        let mut changes = vec![Change::Create { theme, send_data_model }];
        if !self.components.is_empty() {
            let component = |(id, fields): (&String, &Map<_, _>)| Component {
                id: id.clone(),
                fields: fields.clone(),
            };
            changes.push(Change::Components(self.components.iter().map(component).collect()));
        }
        if self.data != Value::Object(Map::new()) {
            changes.push(Change::Data(DataChange { path: None, value: Some(self.data.clone()) }));
        }
        changes.into_iter().map(|change| Message { surface: id.clone(), change }).collect()
    }

    /// The fields of a component.
    pub fn component(&self, id: &str) -> Option<&Map<String, Value>> {
        self.components.get(id)
    }

    pub(super) fn data(&self) -> &Value {
        &self.data
    }

    fn with(&self, components: &[Component]) -> Result<Self, Fault> {
        let mut after = self.clone();
        for component in components {
            after.components.insert(component.id.clone(), component.fields.clone());
        }
        if after.components.len() > MAX_COMPONENTS {
            let what = format!("a surface has at most {MAX_COMPONENTS} components");
            return Err(Fault::limit(what));
        }
        let mut heights = BTreeMap::new();
        for id in after.components.keys() {
            if after.height(id, MAX_NESTING, &mut heights).is_none_or(|high| high > MAX_NESTING) {
                return Err(Fault::limit(format!(
                    "components are at most {MAX_NESTING} deep in each other, and not in a circle: \
                     \"{id}\" is deeper"
                )));
            }
        }
        fits(&after.components)?;
        Ok(after)
    }

    fn with_data(&self, change: &DataChange) -> Result<Self, Fault> {
        let mut after = self.clone();
        let path = change.path.as_deref().unwrap_or_default();
        match &change.value {
            Some(value) => {
                data::put(&mut after.data, path, value.clone())
                    .map_err(|fault| fault.under("path"))?;
            }
            None => data::remove(&mut after.data, path),
        }
        // So that what is sent to whoever comes later is a message, too.
        if is_deeper(&after.data, MAX_NESTING - 2) {
            let what = format!("the data of a surface is at most {} deep", MAX_NESTING - 2);
            return Err(Fault::limit(what).under("value"));
        }
        fits(&after.data).map_err(|fault| fault.under("value"))?;
        Ok(after)
    }

    /// How many components are below each other from this one on; nothing: more than there may be.
    fn height<'a>(
        &'a self,
        id: &'a str,
        left: usize,
        known: &mut BTreeMap<&'a str, usize>,
    ) -> Option<usize> {
        if let Some(height) = known.get(id) {
            return Some(*height);
        }
        // What is named and not there yet comes with a later message.
        let Some(fields) = self.components.get(id) else { return Some(0) };
        let left = left.checked_sub(1)?;
        let mut below = 0;
        for child in children(fields) {
            below = below.max(self.height(child, left, known)?);
        }
        known.insert(id, below + 1);
        Some(below + 1)
    }
}

/// The components that a component names.
fn children(fields: &Map<String, Value>) -> Vec<&str> {
    let mut found = Vec::new();
    let name = fields.get("component").and_then(Value::as_str);
    let kind = name.and_then(catalogue::component);
    for field in kind.iter().flat_map(|kind| kind.fields) {
        let value = fields.get(field.name);
        value.into_iter().for_each(|value| field.shape.references(value, &mut found));
    }
    found
}

/// Whether there is room in a message for all of a surface's components, or all of its data.
fn fits(part: &impl Serialize) -> Result<(), Fault> {
    const AROUND: usize = 512;
    if bytes(part) <= MAX_MESSAGE_BYTES - AROUND {
        return Ok(());
    }
    let most = MAX_MESSAGE_BYTES - AROUND;
    Err(Fault::limit(format!("with this the surface would have more than {most} bytes of it")))
}

fn none(id: &SurfaceId, message: &str) -> Fault {
    let what = format!("there is no surface {id}: create it first");
    Fault::limit(what).under("surfaceId").under(message)
}

//! What somebody did on a surface.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fault::Fault;
use super::format;
use super::message::{bytes, is_deeper};
use super::{MAX_ID_BYTES, MAX_NESTING, Surface};
use crate::ids::SurfaceId;

/// The largest context of an action, in bytes of JSON.
const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// An action, in the form in which A2UI sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserAction {
    /// Which: the name of the event that the component has.
    pub name: String,
    /// On which surface.
    pub surface_id: SurfaceId,
    /// By which component.
    pub source_component_id: String,
    /// When, as RFC 3339 writes it.
    pub timestamp: String,
    /// The context of the event, with the values that its bindings had.
    pub context: Map<String, Value>,
}

impl UserAction {
    /// Whether a surface offers this action, and it is no larger than is taken.
    pub fn check(&self, surface: &Surface) -> Result<(), Fault> {
        if !format::is_date_time(&self.timestamp) {
            let what = "a time is expected, as in \"2026-01-16T14:30:00Z\"";
            return Err(Fault::shape(what).under("timestamp"));
        }
        let is_too_deep = self.context.values().any(|value| is_deeper(value, MAX_NESTING - 1));
        if is_too_deep || bytes(&self.context) > MAX_CONTEXT_BYTES {
            let what = format!(
                "a context has at most {MAX_CONTEXT_BYTES} bytes, and is at most {MAX_NESTING} deep"
            );
            return Err(Fault::limit(what).under("context"));
        }
        let (id, name) = (self.source_component_id.as_str(), self.name.as_str());
        if id.len().max(name.len()) > MAX_ID_BYTES {
            let what = format!("a name has at most {MAX_ID_BYTES} bytes");
            return Err(Fault::limit(what).under("name"));
        }
        let Some(component) = surface.component(id) else {
            let what = format!("there is no component {id:?} on the surface now: look at it again");
            return Err(Fault::limit(what).under("sourceComponentId"));
        };
        let offered = component.get("action").and_then(|action| action.get("event")?.get("name"));
        if offered.is_none_or(|offered| offered != name) {
            let what = format!("{id:?} has no action {name:?} now: look at the surface again");
            return Err(Fault::limit(what).under("name"));
        }
        Ok(())
    }

    /// The same in words, for an agent.
    pub fn text(&self) -> String {
        let Self { name, surface_id, source_component_id, timestamp, context } = self;
        let did = format!(
            "[Action {name:?} of {source_component_id:?} on the surface {surface_id}, at {timestamp}]"
        );
        match context.is_empty() {
            true => did,
            false => format!("{did}\n{}", Value::Object(context.clone())),
        }
    }
}

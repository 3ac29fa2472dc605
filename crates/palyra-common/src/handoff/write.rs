use super::{CrossSurfaceHandoff, HandoffField};
use crate::runtime_contracts::{HandoffSection, TelemetrySurface};

/// The console is served at the root; the query is appended.
const CONSOLE: &str = "/?";

/// The handoff as an address relative to the console's: `/?section=chat&…`.
///
/// Section and source are always there, the rest if set, in the order of the fields.
pub fn to_handoff_url(handoff: &CrossSurfaceHandoff) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix(CONSOLE.to_owned(), CONSOLE.len());
    for field in HandoffField::ALL {
        if let Some(value) = handoff.value(*field) {
            query.append_pair(field.as_str(), &value);
        }
    }
    query.finish()
}

/// Where a login that carries `handoff` goes on to: always an address of the console, whatever was read.
///
/// A handoff that names nothing is the plain address.
pub fn to_console_address(handoff: &CrossSurfaceHandoff) -> String {
    let nowhere = CrossSurfaceHandoff::to_section(HandoffSection::Overview, TelemetrySurface::Web);
    if *handoff == nowhere { "/".to_owned() } else { to_handoff_url(handoff) }
}

/// The handoff as a JSON object with the same fields.
pub fn to_handoff_token(handoff: &CrossSurfaceHandoff) -> String {
    serde_json::to_string(handoff).expect("strings under fixed names always serialise")
}

impl CrossSurfaceHandoff {
    fn value(&self, field: HandoffField) -> Option<String> {
        match field {
            HandoffField::Section => Some(self.section.to_string()),
            HandoffField::SessionId => self.session_id.map(|id| id.to_string()),
            HandoffField::RunId => self.run_id.map(|id| id.to_string()),
            HandoffField::ApprovalId => self.approval_id.map(|id| id.to_string()),
            HandoffField::ObjectiveId => self.objective_id.map(|id| id.to_string()),
            HandoffField::ConnectorId => self.connector_id.as_ref().map(ToString::to_string),
            HandoffField::SurfaceId => self.surface_id.as_ref().map(ToString::to_string),
            HandoffField::Intent => self.intent.map(|intent| intent.to_string()),
            HandoffField::Source => Some(self.source.to_string()),
        }
    }
}

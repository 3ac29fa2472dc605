use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::{CrossSurfaceHandoff, HandoffField, HandoffProblem};
use crate::runtime_contracts::{HandoffIntent, HandoffSection, TelemetrySurface};

/// A field that was dropped, for the surface to tell its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HandoffNotice {
    /// Which field.
    pub field: HandoffField,
    /// What was wrong with it. The text itself is not repeated: anyone can write a link.
    pub problem: HandoffProblem,
}

impl fmt::Display for HandoffNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = match self.problem {
            HandoffProblem::UnknownValue => "is not a known value",
            HandoffProblem::InvalidUlid => "is not a valid id",
            HandoffProblem::InvalidName => "is not a valid name",
            HandoffProblem::NotText => "is not text",
        };
        write!(f, "the link's {} {wrong} and was ignored", self.field)
    }
}

/// What could be understood of a handoff, and what could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedHandoff {
    /// Where to go.
    pub handoff: CrossSurfaceHandoff,
    /// What was dropped, in the order of the fields.
    pub notices: Vec<HandoffNotice>,
}

/// Why a token could not be read at all.
#[derive(Debug, Error)]
pub enum HandoffTokenError {
    /// It is not JSON.
    #[error("the handoff token is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but not an object.
    #[error("the handoff token is not a JSON object")]
    NotAnObject,
}

/// Reads a handoff from the query of the console's address, with or without its question mark.
///
/// Parameters that are not fields of a handoff are ignored, as is a field with nothing in it; of a
/// field that is given twice, the first counts. A missing page is the overview, a missing source
/// the web. A page or source that is not known falls back to the same, with a notice.
pub fn parse_console_handoff(query: &str) -> ParsedHandoff {
    let query = query.strip_prefix('?').unwrap_or(query);
    let mut given = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let field = HandoffField::ALL.iter().find(|field| field.as_str() == name);
        if let Some(field) = field {
            given.entry(*field).or_insert(Given::Text(value));
        }
    }
    Reader { given, notices: Vec::new() }.read()
}

/// Reads a handoff from its JSON form, by the same rules; `null` is nothing.
pub fn parse_handoff_token(token: &str) -> Result<ParsedHandoff, HandoffTokenError> {
    let Value::Object(mut members) =
        serde_json::from_str(token).map_err(HandoffTokenError::NotJson)?
    else {
        return Err(HandoffTokenError::NotAnObject);
    };
    let mut given = BTreeMap::new();
    for field in HandoffField::ALL {
        match members.remove(field.as_str()) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => {
                given.insert(*field, Given::Text(Cow::Owned(text)));
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                given.insert(*field, Given::NotText);
            }
        }
    }
    Ok(Reader { given, notices: Vec::new() }.read())
}

/// The intent that `text` spells, in snake, kebab or camel case; nothing if there is none.
pub fn normalize_handoff_intent(text: &str) -> Option<HandoffIntent> {
    text.parse().ok()
}

enum Given<'a> {
    Text(Cow<'a, str>),
    NotText,
}

struct Reader<'a> {
    given: BTreeMap<HandoffField, Given<'a>>,
    notices: Vec<HandoffNotice>,
}

impl Reader<'_> {
    fn read(mut self) -> ParsedHandoff {
        let handoff = CrossSurfaceHandoff {
            section: self.word(HandoffField::Section).unwrap_or(HandoffSection::Overview),
            session_id: self.ulid(HandoffField::SessionId),
            run_id: self.ulid(HandoffField::RunId),
            approval_id: self.ulid(HandoffField::ApprovalId),
            objective_id: self.ulid(HandoffField::ObjectiveId),
            connector_id: self.name(HandoffField::ConnectorId),
            surface_id: self.name(HandoffField::SurfaceId),
            intent: self.word(HandoffField::Intent),
            source: self.word(HandoffField::Source).unwrap_or(TelemetrySurface::Web),
        };
        ParsedHandoff { handoff, notices: self.notices }
    }

    fn word<T: FromStr>(&mut self, field: HandoffField) -> Option<T> {
        self.take(field, HandoffProblem::UnknownValue)
    }

    fn ulid<T: FromStr>(&mut self, field: HandoffField) -> Option<T> {
        self.take(field, HandoffProblem::InvalidUlid)
    }

    fn name<T: FromStr>(&mut self, field: HandoffField) -> Option<T> {
        self.take(field, HandoffProblem::InvalidName)
    }

    fn take<T: FromStr>(&mut self, field: HandoffField, otherwise: HandoffProblem) -> Option<T> {
        let problem = match self.given.remove(&field)? {
            Given::Text(text) if text.trim().is_empty() => return None,
            Given::Text(text) => match text.parse() {
                Ok(value) => return Some(value),
                Err(_) => otherwise,
            },
            Given::NotText => HandoffProblem::NotText,
        };
        self.notices.push(HandoffNotice { field, problem });
        None
    }
}

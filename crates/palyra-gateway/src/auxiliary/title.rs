//! The names of conversations that nobody has named.

use palyra_common::auxiliary::{AuxiliaryInput, SummaryInput, SummaryShape, contract};
use palyra_common::ids::{AgentId, SessionId};
use palyra_common::runtime_contracts::{AuxiliaryPurpose, AuxiliaryTaskKind};
use palyra_common::time::Timestamp;
use palyra_policy::auxiliary::{excerpt, title_of};
use palyra_storage::Tx;

use super::{Wanted, ask_for};
use crate::engine::Thinker;
use crate::error::GatewayError;

/// The longest title that a model may give, in characters.
const TITLE_CHARS: u32 = 80;
/// How much of what was asked and answered it reads, in characters each.
const READ_CHARS: usize = 2_000;

/// How a conversation gets its name, once it has its first answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Naming {
    /// It is called this, with the answer.
    Now(String),
    /// A model is asked, after the answer.
    Later(Box<Wanted>),
}

impl Naming {
    /// For a conversation that begins with a question and its answer.
    pub(crate) fn of(
        (agent, session): (&AgentId, SessionId),
        models: &[String],
        thinker: &dyn Thinker,
        (asked, answer): (&str, &str),
    ) -> Option<Self> {
        let title = title_of(asked);
        if title.is_empty() {
            return None;
        }
        let preference = contract(AuxiliaryTaskKind::Summary).preference;
        let is_asked = thinker.names_conversations();
        if !is_asked || thinker.preferred(models, preference).is_empty() {
            return Some(Self::Now(title));
        }
        let (asked, answer) = (excerpt(asked, READ_CHARS), excerpt(answer, READ_CHARS));
        // The first line is what it is called if no model says better.
        let text = format!("{asked}\n\nThe answer:\n{answer}");
        let shape = SummaryShape::Title;
        let input = SummaryInput { text, before: None, shape, max_chars: TITLE_CHARS };
        Some(Self::Later(Box::new(Wanted {
            agent: agent.clone(),
            session: Some(session),
            input: AuxiliaryInput::Summary(input),
            key: Some(format!("title:{session}")),
        })))
    }

    /// What it is called at once; nothing where a model is asked.
    pub(crate) fn at_once(&self) -> &str {
        match self {
            Self::Now(title) => title,
            Self::Later(_) => "",
        }
    }

    /// Has a model asked, if it is to be.
    pub(crate) fn write(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<(), GatewayError> {
        match self {
            Self::Now(_) => Ok(()),
            Self::Later(wanted) => ask_for(tx, wanted, AuxiliaryPurpose::Title, now).map(drop),
        }
    }
}

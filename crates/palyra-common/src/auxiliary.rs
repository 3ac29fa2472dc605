//! Side calls to models under a strict contract: what goes in, what has to come out, how much it may
//! be, and what follows where no model meets it.
//!
//! [`contract`] is the table of them. Inputs and outputs are values with a JSON Schema each
//! ([`input_schema`], [`output_schema`]), whose limits are the constants here; an output is what its
//! input asked for, so that its schema follows from that.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runtime_contracts::{AuxiliaryFailureMode, AuxiliaryPreference, AuxiliaryTaskKind};
use crate::time::Duration;

mod schema;
#[cfg(test)]
mod tests;

pub use schema::{input_schema, output_schema};

/// The longest text, in characters.
pub const MAX_TEXT_CHARS: usize = 200_000;
/// The longest question, goal or prompt, in characters.
pub const MAX_QUESTION_CHARS: usize = 8_000;
/// The longest summary, in characters.
pub const MAX_SUMMARY_CHARS: usize = 8_000;
/// How many candidates, labels, fields or criteria there are at most.
pub const MAX_ITEMS: usize = 64;
/// The longest candidate, in characters.
pub const MAX_CANDIDATE_CHARS: usize = 4_000;
/// The longest label or name of a field, in characters.
pub const MAX_NAME_CHARS: usize = 64;
/// The longest word about a label, a field or a criterion, in characters.
pub const MAX_MEANING_CHARS: usize = 500;
/// The longest value of a field, and the longest quotation or reason, in characters.
pub const MAX_VALUE_CHARS: usize = 2_000;
/// How many images are looked at at once.
pub const MAX_IMAGES: usize = 4;
/// How large one of them is at most, in bytes.
pub const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;
/// How large all of them are together, in bytes.
pub const MAX_IMAGES_BYTES: usize = 10 * 1024 * 1024;

/// What holds for all tasks of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// What goes in.
    pub input: &'static str,
    /// What has to come out.
    pub output: &'static str,
    /// How many tokens a model may write for it.
    pub tokens: u32,
    /// Which model it is put to.
    pub preference: AuxiliaryPreference,
    /// What follows where no model meets it.
    pub on_failure: AuxiliaryFailureMode,
    /// How long a model may take.
    pub within: Duration,
}

/// The contract of a kind.
pub const fn contract(kind: AuxiliaryTaskKind) -> Contract {
    use AuxiliaryFailureMode::{Degrade, FailClosed};
    use AuxiliaryPreference::{LowCost, LowLatency, VisionCapable};
    let (input, output, tokens, preference, on_failure, seconds) = match kind {
        AuxiliaryTaskKind::Summary => {
            ("plain_text_context", "bounded_plain_text_summary", 1_200, LowCost, Degrade, 60)
        }
        AuxiliaryTaskKind::RecallSearch => (
            "query_plus_optional_context",
            "ranked_recall_evidence_json",
            1_600,
            LowCost,
            Degrade,
            60,
        ),
        AuxiliaryTaskKind::Classification => {
            ("plain_text_payload", "single_label_json", 600, LowLatency, FailClosed, 30)
        }
        AuxiliaryTaskKind::Extraction => {
            ("plain_text_payload", "bounded_extracted_fields_json", 1_200, LowCost, Degrade, 60)
        }
        AuxiliaryTaskKind::ObjectiveJudge => (
            "objective_judge_input_json",
            "objective_judge_strict_json",
            900,
            LowLatency,
            FailClosed,
            30,
        ),
        AuxiliaryTaskKind::Vision => (
            "prompt_plus_bounded_images",
            "bounded_visual_observation_json",
            2_000,
            VisionCapable,
            FailClosed,
            120,
        ),
    };
    let within = Duration::from_secs(seconds);
    Contract { input, output, tokens, preference, on_failure, within }
}

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident {$($(#[$field_doc:meta])* $field:ident: $type:ty,)+})+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {$($(#[$field_doc])* pub $field: $type,)+}
    )+};
}

macro_rules! by_kind {
    ($(#[$doc:meta])* $name:ident: $($(#[$variant_doc:meta])* $kind:ident($payload:ident),)+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {$($(#[$variant_doc])* $kind($payload),)+}

        impl $name {
            /// Of which kind it is.
            pub fn kind(&self) -> AuxiliaryTaskKind {
                match self {$(Self::$kind(_) => AuxiliaryTaskKind::$kind,)+}
            }

            /// As it is written down, and as its schema describes it.
            pub fn to_value(&self) -> Result<Value, serde_json::Error> {
                match self {$(Self::$kind(payload) => serde_json::to_value(payload),)+}
            }

            /// As it was written down.
            pub fn from_value(
                kind: AuxiliaryTaskKind,
                value: Value,
            ) -> Result<Self, serde_json::Error> {
                match kind {$(
                    AuxiliaryTaskKind::$kind => serde_json::from_value(value).map(Self::$kind),
                )+}
            }
        }
    };
}

by_kind! {
    /// What goes into a task.
    AuxiliaryInput:
    /// A text to be put into fewer words.
    Summary(SummaryInput),
    /// Texts of which some answer a question.
    RecallSearch(RecallInput),
    /// A text that one of some labels fits.
    Classification(ClassificationInput),
    /// A text with facts in it.
    Extraction(ExtractionInput),
    /// What was done about an objective.
    ObjectiveJudge(JudgeInput),
    /// Images to be looked at.
    Vision(VisionInput),
}

by_kind! {
    /// What comes out of a task.
    AuxiliaryOutput:
    /// The text in fewer words.
    Summary(Summary),
    /// The texts that answer the question.
    RecallSearch(Recall),
    /// The label that fits.
    Classification(Classification),
    /// The facts.
    Extraction(Extraction),
    /// The verdict.
    ObjectiveJudge(Verdict),
    /// What is to be seen.
    Vision(Observation),
}

payloads! {
    /// A text to be put into fewer words.
    SummaryInput {
        /// The text.
        text: String,
        /// What stands before it in fewer words already, and is to be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// How it is to look.
        shape: SummaryShape,
        /// How many characters it may have.
        max_chars: u32,
    }

    /// Texts of which some answer a question.
    RecallInput {
        /// The question.
        query: String,
        /// What it is asked about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// The texts.
        candidates: Vec<String>,
        /// How many of them are wanted at most.
        most: u32,
    }

    /// A text that one of some labels fits.
    ClassificationInput {
        /// The text.
        text: String,
        /// The labels, at least two.
        labels: Vec<Named>,
    }

    /// A text with facts in it.
    ExtractionInput {
        /// The text.
        text: String,
        /// What is looked for.
        fields: Vec<Named>,
    }

    /// A name and what it means.
    Named {
        /// The name.
        name: String,
        /// What it means, for the model.
        meaning: String,
    }

    /// What was done about an objective.
    JudgeInput {
        /// What is to be reached.
        goal: String,
        /// By what that is known.
        criteria: Vec<String>,
        /// What was done, and what came of it.
        attempt: String,
    }

    /// Images to be looked at.
    VisionInput {
        /// What is wanted to be known.
        prompt: String,
        /// The images.
        images: Vec<ImageRef>,
    }

    /// An image among the blobs.
    ImageRef {
        /// What kind of image: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The SHA-256 of the file, in hexadecimal.
        blob: String,
    }

    /// A candidate that answers the question.
    Evidence {
        /// Its place among the candidates, from 0.
        index: u32,
        /// How well, from 0 to 1.
        score: f64,
        /// The words of it that do.
        quote: String,
    }

    /// The candidates that answer the question, the best first.
    Recall {
        /// Those.
        evidence: Vec<Evidence>,
    }

    /// The label that fits.
    Classification {
        /// Its name.
        label: String,
        /// How sure that is, from 0 to 1.
        confidence: f64,
    }

    /// What was found of what was looked for.
    Extraction {
        /// By the name of the field; what is missing was not found.
        fields: std::collections::BTreeMap<String, String>,
    }

    /// Whether an objective is met.
    Verdict {
        /// Whether all of its criteria are.
        met: bool,
        /// How much of it is, from 0 to 100.
        progress: u32,
        /// Why.
        reason: String,
        /// What to do next; nothing where there is nothing to do.
        next_step: Option<String>,
    }

    /// What is to be seen in images.
    Observation {
        /// What was wanted to be known.
        description: String,
        /// The words in them.
        text: String,
        /// What is in them.
        objects: Vec<String>,
    }
}

/// How a summary is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryShape {
    /// What a conversation came to, with every fact that may be needed again.
    Notes,
    /// A few words on one line.
    Title,
}

/// A text in fewer words. As a value it is the text alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Summary(pub String);

//! What takes the place of an output that no model gave: plain, the same for the same input, and no
//! claim that a model has thought about it.

use std::collections::BTreeSet;

use palyra_common::auxiliary::{
    AuxiliaryInput, AuxiliaryOutput, Evidence, Extraction, MAX_VALUE_CHARS, Recall, RecallInput,
    Summary, SummaryInput, SummaryShape,
};

/// What is said where a text is cut.
const CUT: &str = "\n[… left out …]\n";
/// The longest title that is taken from what somebody said, in characters.
const TITLE_CHARS: usize = 60;

/// The substitute for an output. Nothing: there is none, and the answer to whoever asked is no.
pub fn fallback(input: &AuxiliaryInput) -> Option<AuxiliaryOutput> {
    match input {
        AuxiliaryInput::Summary(wanted) => {
            Some(AuxiliaryOutput::Summary(Summary(shortened(wanted))))
        }
        AuxiliaryInput::RecallSearch(asked) => Some(AuxiliaryOutput::RecallSearch(by_words(asked))),
        AuxiliaryInput::Extraction(_) => {
            Some(AuxiliaryOutput::Extraction(Extraction { fields: Default::default() }))
        }
        AuxiliaryInput::Classification(_)
        | AuxiliaryInput::ObjectiveJudge(_)
        | AuxiliaryInput::Vision(_) => None,
    }
}

fn shortened(wanted: &SummaryInput) -> String {
    let most = wanted.max_chars as usize;
    match (wanted.shape, &wanted.before) {
        (SummaryShape::Title, _) => head(&title_of(&wanted.text), most),
        (SummaryShape::Notes, None) => excerpt(&wanted.text, most),
        (SummaryShape::Notes, Some(before)) => {
            excerpt(&format!("{before}\n\n{}", wanted.text), most)
        }
    }
}

/// The beginning and the end of a text in so many characters, with a mark where it is cut.
pub fn excerpt(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(CUT.chars().count()).filter(|room| *room >= 2) else {
        return head(text, most);
    };
    let (first, last) = (room.div_ceil(2), room / 2);
    let end = text.char_indices().nth(count - last).map_or(text.len(), |(at, _)| at);
    format!("{}{CUT}{}", head(text, first), &text[end..])
}

/// A title for what begins like this: its first line that says something.
pub fn title_of(text: &str) -> String {
    // A mark of the order of bytes is nothing to be seen either.
    let readable = |c: char| if c.is_control() || c == '\u{feff}' { ' ' } else { c };
    let words = |line: &str| {
        let line: String = line.chars().map(readable).collect();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let words = text.lines().map(words).find(|words| !words.is_empty()).unwrap_or_default();
    if words.chars().count() <= TITLE_CHARS {
        return words;
    }
    let cut = head(&words, TITLE_CHARS - 1);
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    format!("{whole}…")
}

fn head(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The candidates by how many of the words of the question are in them; of two alike, the first.
fn by_words(asked: &RecallInput) -> Recall {
    let wanted = words(&asked.query);
    let scored = asked.candidates.iter().enumerate().map(|(place, candidate)| {
        let found = words(candidate);
        let shared = wanted.iter().filter(|word| found.contains(*word)).count();
        (place, shared, candidate)
    });
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by_key(|(place, shared, _)| (std::cmp::Reverse(*shared), *place));
    let evidence =
        scored.into_iter().take(asked.most as usize).map(|(place, shared, candidate)| Evidence {
            index: u32::try_from(place).unwrap_or(u32::MAX),
            score: shared as f64 / wanted.len().max(1) as f64,
            quote: head(candidate, MAX_VALUE_CHARS),
        });
    Recall { evidence: evidence.collect() }
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

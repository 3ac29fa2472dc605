use std::fmt;

use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// How much of a refused text is repeated in the error.
const SHOWN_INPUT_CHARS: usize = 64;

/// One enum of the vocabulary, described as data.
#[derive(Debug)]
pub struct ContractDescriptor {
    /// The name of the enum.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its values, in the order of declaration.
    pub values: &'static [ContractValue],
    /// The enum's own `FromStr` followed by its `as_str`.
    pub(crate) canonical: fn(&str) -> Result<&'static str, ParseContractError>,
}

/// One value of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractValue {
    /// The canonical wire value.
    pub wire: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Other spellings that are read as this value and never written.
    pub aliases: &'static [&'static str],
}

impl ContractValue {
    /// The canonical value and then its aliases.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.wire).chain(self.aliases.iter().copied())
    }
}

impl ContractDescriptor {
    /// The canonical spelling of `text`, read as the enum itself reads it.
    pub fn canonical(&self, text: &str) -> Result<&'static str, ParseContractError> {
        (self.canonical)(text)
    }

    /// The JSON Schema of the wire form. Only canonical values: it describes what is written.
    pub fn json_schema(&self) -> Value {
        let values: Vec<_> = self.values.iter().map(|value| value.wire).collect();
        // Keys in alphabetical order, so that the text is the same whether or not some crate of the
        // build switches on serde_json's `preserve_order`.
        json!({ "description": self.doc, "enum": values, "title": self.name, "type": "string" })
    }

    /// Where the value that `text` spells stands in [`values`](Self::values).
    pub(crate) fn position(&self, text: &str) -> Result<usize, ParseContractError> {
        let spelled = text.trim();
        self.values
            .iter()
            .position(|value| value.spellings().any(|known| known.eq_ignore_ascii_case(spelled)))
            .ok_or_else(|| ParseContractError {
                contract: self.name,
                input: spelled.chars().take(SHOWN_INPUT_CHARS).collect(),
                expected: self.values,
            })
    }

    /// Refuses, at compile time, spellings that parsing could never reach: two that differ only in
    /// case, or one that trimming would change.
    pub(crate) const fn assert_sound(&self) {
        let mut later = 0;
        while let Some(spelling) = nth_spelling(self.values, later) {
            assert!(
                is_graphic(spelling),
                "a spelling is empty or has blanks or non-ASCII characters"
            );
            let mut earlier = 0;
            while earlier < later {
                if let Some(other) = nth_spelling(self.values, earlier) {
                    let collide = spelling.eq_ignore_ascii_case(other);
                    assert!(!collide, "two spellings of one contract differ only in case");
                }
                earlier += 1;
            }
            later += 1;
        }
    }
}

const fn is_graphic(spelling: &str) -> bool {
    let mut index = 0;
    while index < spelling.len() {
        if !spelling.as_bytes()[index].is_ascii_graphic() {
            return false;
        }
        index += 1;
    }
    !spelling.is_empty()
}

/// The `n`th of all spellings, counting through the values in order.
const fn nth_spelling(values: &[ContractValue], n: usize) -> Option<&'static str> {
    let mut remaining = n;
    let mut index = 0;
    while index < values.len() {
        let value = &values[index];
        if remaining == 0 {
            return Some(value.wire);
        }
        if remaining <= value.aliases.len() {
            return Some(value.aliases[remaining - 1]);
        }
        remaining -= 1 + value.aliases.len();
        index += 1;
    }
    None
}

/// A text that spells none of a contract's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseContractError {
    contract: &'static str,
    input: String,
    expected: &'static [ContractValue],
}

impl ParseContractError {
    /// The name of the enum that was asked for.
    pub fn contract(&self) -> &'static str {
        self.contract
    }

    /// The canonical values, one of which was expected.
    pub fn expected(&self) -> impl Iterator<Item = &'static str> {
        self.expected.iter().map(|value| value.wire)
    }
}

impl fmt::Display for ParseContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected: Vec<_> = self.expected().collect();
        let (input, contract) = (&self.input, in_words(self.contract));
        write!(f, "{input:?} is no {contract}, expected one of {}", expected.join(", "))
    }
}

/// `RunState` as `run state`: the name is Rust's, and the reader need not know it.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

impl std::error::Error for ParseContractError {}

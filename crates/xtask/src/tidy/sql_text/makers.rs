//! What makes a statement of a text, whatever the text is put together from.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;

use super::super::tokens::{self, Found, Macro};

/// What the storage crate offers, and the file that defines it.
const MACROS: &[&str] = &["sql", "claim_sql", "hold_sql", "lock_sql"];
const TYPE: &str = "Sql";
pub(super) const HOME: &str = "crates/palyra-storage/src/sql.rs";

/// Known by their last names only: of two macros with one name, both count.
pub(super) struct Makers {
    macros: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl Makers {
    /// Those of the storage crate, and what the files that may use them wrap around them or call
    /// them by.
    pub(super) fn known_to<'a>(files: impl Iterator<Item = &'a TokenStream> + Clone) -> Self {
        let wrappers: Vec<Macro> = files.clone().flat_map(tokens::macro_rules).collect();
        let renames: Vec<_> = files.flat_map(tokens::renames).map(|found| found.value).collect();
        let mut makers = Self {
            macros: MACROS.iter().map(|name| (*name).to_owned()).collect(),
            types: BTreeSet::from([TYPE.to_owned()]),
        };
        loop {
            let before = makers.macros.len() + makers.types.len();
            for wrapper in &wrappers {
                if !makers.used_in(&wrapper.inside, |_| false).is_empty() {
                    makers.macros.insert(wrapper.name.clone());
                }
            }
            for rename in &renames {
                for names in [&mut makers.macros, &mut makers.types] {
                    if names.contains(&rename.from) {
                        names.insert(rename.to.clone());
                    }
                }
            }
            if makers.macros.len() + makers.types.len() == before {
                return makers;
            }
        }
    }

    /// Where statements are made, but for the calls that are allowed.
    pub(super) fn used_in(
        &self,
        stream: &TokenStream,
        allowed: impl Fn(&Macro) -> bool,
    ) -> Vec<Found<String>> {
        let calls = tokens::macros(stream).into_iter();
        let mut used: Vec<Found<String>> = calls
            .filter(|call| self.macros.contains(&call.value.name) && !allowed(&call.value))
            .map(|call| Found { line: call.line, value: format!("{}!", call.value.name) })
            .collect();
        for path in tokens::paths(stream) {
            if let [.., owner, method] = path.value.as_slice()
                && self.types.contains(owner)
                && method == "from_parts"
            {
                used.push(Found { line: path.line, value: format!("{owner}::{method}") });
            }
        }
        // What is called by another name goes unseen above.
        for rename in tokens::renames(stream) {
            let from = &rename.value.from;
            let sign = if self.macros.contains(from) { "!" } else { "" };
            if self.macros.contains(from) || self.types.contains(from) {
                let value = format!("{from}{sign} under another name");
                used.push(Found { line: rename.line, value });
            }
        }
        used.sort_by_key(|found| found.line);
        used
    }
}

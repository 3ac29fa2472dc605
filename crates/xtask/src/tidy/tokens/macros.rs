//! What tokens show of macros, and of the names that `use` gives.

use proc_macro2::{TokenStream, TokenTree};

use super::{Found, Walk, walk};

/// A macro that is called or defined; of a path, the last word.
#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) name: String,
    /// What stands in its brackets.
    pub(crate) inside: TokenStream,
}

/// The macros that are called.
pub(crate) fn macros(stream: &TokenStream) -> Vec<Found<Macro>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        if let [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(inside), ..] =
            trees
            && bang.as_char() == '!'
        {
            let value = Macro { name: name.to_string(), inside: inside.stream() };
            found.push(Found { line: name.span().start().line, value });
        }
        Walk::On
    });
    found
}

/// The macros that `macro_rules!` defines.
pub(crate) fn macro_rules(stream: &TokenStream) -> Vec<Macro> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        if let [TokenTree::Ident(word), _, TokenTree::Ident(name), TokenTree::Group(rules), ..] =
            trees
            && word == "macro_rules"
        {
            found.push(Macro { name: name.to_string(), inside: rules.stream() });
        }
        Walk::On
    });
    found
}

/// `from as to`, somewhere in a `use`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The names that a `use` replaces by others.
pub(crate) fn renames(stream: &TokenStream) -> Vec<Found<Rename>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        if let [TokenTree::Ident(word), rest @ ..] = trees
            && word == "use"
        {
            let ends =
                |tree: &&TokenTree| matches!(tree, TokenTree::Punct(end) if end.as_char() == ';');
            let item = rest.iter().take_while(|tree| !ends(tree)).cloned().collect();
            walk(&item, &mut |trees| {
                found.extend(rename_at(trees));
                Walk::On
            });
        }
        Walk::On
    });
    found
}

fn rename_at(trees: &[TokenTree]) -> Option<Found<Rename>> {
    match trees {
        [TokenTree::Ident(from), TokenTree::Ident(word), TokenTree::Ident(to), ..]
            if word == "as" =>
        {
            let value = Rename { from: from.to_string(), to: to.to_string() };
            Some(Found { line: from.span().start().line, value })
        }
        _ => None,
    }
}

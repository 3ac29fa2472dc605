//! What rules find by walking tokens. Unlike a syntax tree, tokens show what stands inside macros.

mod macros;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syn::Meta;
use syn::punctuated::Punctuated;

pub(crate) use macros::{Macro, macro_rules, macros, renames};

/// A piece of source and the line it starts on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<T> {
    pub(crate) line: usize,
    pub(crate) value: T,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) lines: usize,
}

/// The same brackets around other tokens.
pub(crate) fn group_with(group: &Group, stream: TokenStream) -> Group {
    let mut copy = Group::new(group.delimiter(), stream);
    copy.set_span(group.span());
    copy
}

/// The contents of string literals, but not of doc comments.
pub(crate) fn strings(stream: &TokenStream) -> Vec<Found<String>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        if is_doc_attribute(&trees[0]) {
            return Walk::Over;
        }
        if let [TokenTree::Literal(literal), ..] = trees {
            let value = match syn::Lit::new(literal.clone()) {
                syn::Lit::Str(text) => Some(text.value()),
                syn::Lit::ByteStr(bytes) => String::from_utf8(bytes.value()).ok(),
                syn::Lit::CStr(text) => text.value().into_string().ok(),
                _ => None,
            };
            let line = literal.span().start().line;
            found.extend(value.map(|value| Found { line, value }));
        }
        Walk::On
    });
    found
}

/// Every function with a body, from the word `fn` to its closing brace.
pub(crate) fn functions(stream: &TokenStream) -> Vec<Found<Function>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        found.extend(function_at(trees));
        Walk::On
    });
    found
}

fn function_at(trees: &[TokenTree]) -> Option<Found<Function>> {
    let (keyword, rest) = match trees {
        [TokenTree::Ident(keyword), rest @ ..] if keyword == "fn" => (keyword, rest),
        _ => return None,
    };
    // Inside `macro_rules!` the name may be a `$variable`.
    let name = match rest {
        [TokenTree::Ident(name), ..] => name.to_string(),
        [TokenTree::Punct(dollar), TokenTree::Ident(name), ..] if dollar.as_char() == '$' => {
            format!("${name}")
        }
        _ => return None,
    };
    let end = rest.iter().find(|tree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    })?;
    let TokenTree::Group(body) = end else {
        return None;
    };
    let line = keyword.span().start().line;
    let lines = body.span_close().end().line - line + 1;
    Some(Found { line, value: Function { name, lines } })
}

/// Every closure whose body stands in braces, from the end of its parameters to its closing brace.
pub(crate) fn closures(stream: &TokenStream) -> Vec<Found<Function>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        found.extend(closure_at(trees));
        Walk::On
    });
    found
}

fn closure_at(trees: &[TokenTree]) -> Option<Found<Function>> {
    let is =
        |tree: &TokenTree, sign| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign);
    let [bar, rest @ ..] = trees else {
        return None;
    };
    if !is(bar, '|') {
        return None;
    }
    let body = match rest {
        // Before the braces stands what the closure returns.
        [minus, arrow, rest @ ..] if is(minus, '-') && is(arrow, '>') => {
            rest.iter().find(|tree| matches!(tree, TokenTree::Group(_)) || is(tree, ';'))?
        }
        [body, ..] => body,
        [] => return None,
    };
    let TokenTree::Group(body) = body else {
        return None;
    };
    if body.delimiter() != Delimiter::Brace {
        return None;
    }
    let line = bar.span().start().line;
    let lines = body.span_close().end().line - line + 1;
    Some(Found { line, value: Function { name: "closure".to_owned(), lines } })
}

/// The names of modules, declared or written in place.
pub(crate) fn modules(stream: &TokenStream) -> Vec<Found<String>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        if let [TokenTree::Ident(keyword), TokenTree::Ident(name), ..] = trees
            && keyword == "mod"
        {
            found.push(Found { line: name.span().start().line, value: name.to_string() });
        }
        Walk::On
    });
    found
}

/// The paths in `pub use`, `pub extern crate` and `pub type`.
pub(crate) fn handed_on(stream: &TokenStream) -> Vec<Found<Vec<String>>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        if let [TokenTree::Ident(visibility), TokenTree::Ident(keyword), rest @ ..] = trees
            && visibility == "pub"
            && ["use", "extern", "type"].iter().any(|of| keyword == of)
        {
            let ends =
                |tree: &&TokenTree| matches!(tree, TokenTree::Punct(end) if end.as_char() == ';');
            let item = rest.iter().take_while(|tree| !ends(tree)).cloned().collect();
            found.extend(paths(&item));
        }
        Walk::On
    });
    found
}

/// What attributes say, inner and outer; of `cfg_attr`, what it stands for.
pub(crate) fn attributes(stream: &TokenStream) -> Vec<Found<Meta>> {
    let mut found = Vec::new();
    walk(stream, &mut |trees| {
        let group = match trees {
            [TokenTree::Punct(hash), TokenTree::Group(group), ..] if hash.as_char() == '#' => group,
            [TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(group), ..]
                if hash.as_char() == '#' && bang.as_char() == '!' =>
            {
                group
            }
            _ => return Walk::On,
        };
        let line = group.span().start().line;
        // Inside of `macro_rules!` an attribute may be a `$variable`, which says nothing yet.
        let metas = syn::parse2(group.stream()).map(attributes_of).unwrap_or_default();
        found.extend(metas.into_iter().map(|value| Found { line, value }));
        Walk::On
    });
    found
}

fn attributes_of(meta: Meta) -> Vec<Meta> {
    match &meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let inside = list.parse_args_with(Punctuated::<Meta, syn::Token![,]>::parse_terminated);
            inside.into_iter().flatten().skip(1).flat_map(attributes_of).collect()
        }
        _ => vec![meta],
    }
}

/// Every word with the path it ends: `use std::{fs, time::Instant}` gives `std::fs` and
/// `std::time::Instant`; `a.await` gives `a` and `await`.
pub(crate) fn paths(stream: &TokenStream) -> Vec<Found<Vec<String>>> {
    let mut found = Vec::new();
    collect_paths(stream, &[], &mut found);
    found
}

fn collect_paths(stream: &TokenStream, prefix: &[String], found: &mut Vec<Found<Vec<String>>>) {
    let trees: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Ident(word) if !starts_path(word) => {
                found.push(Found { line: word.span().start().line, value: vec![word.to_string()] });
                at += 1;
            }
            TokenTree::Ident(first) => {
                let mut path = prefix.to_vec();
                path.push(first.to_string());
                at += 1;
                while let Some(TokenTree::Ident(segment)) = after_colons(&trees[at..]) {
                    path.push(segment.to_string());
                    at += 3;
                }
                if let Some(TokenTree::Group(group)) = after_colons(&trees[at..])
                    && group.delimiter() == Delimiter::Brace
                {
                    collect_paths(&group.stream(), &path, found);
                    at += 3;
                } else {
                    found.push(Found { line: first.span().start().line, value: path });
                }
            }
            TokenTree::Group(group) => {
                collect_paths(&group.stream(), &[], found);
                at += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
        }
    }
}

/// Whether a `::` after the word belongs to it, unlike in `use ::std::fs`.
fn starts_path(word: &Ident) -> bool {
    let word = word.to_string();
    matches!(word.as_str(), "crate" | "self" | "Self" | "super")
        || syn::parse_str::<Ident>(&word).is_ok()
}

/// The token after a leading `::`.
fn after_colons(trees: &[TokenTree]) -> Option<&TokenTree> {
    match trees {
        [TokenTree::Punct(first), TokenTree::Punct(second), next, ..]
            if first.as_char() == ':' && second.as_char() == ':' =>
        {
            Some(next)
        }
        _ => None,
    }
}

/// The `[doc = "…"]` of a doc comment, outer or inner.
fn is_doc_attribute(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    let mut inside = group.stream().into_iter();
    group.delimiter() == Delimiter::Bracket
        && matches!(inside.next(), Some(TokenTree::Ident(name)) if name == "doc")
        && matches!(inside.next(), Some(TokenTree::Punct(equals)) if equals.as_char() == '=')
}

enum Walk {
    On,
    /// Do not enter this token's brackets.
    Over,
}

/// Shows `visit` the tokens from every position on (never none), on every level of brackets.
fn walk(stream: &TokenStream, visit: &mut dyn FnMut(&[TokenTree]) -> Walk) {
    let trees: Vec<TokenTree> = stream.clone().into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match (visit(&trees[at..]), tree) {
            (Walk::On, TokenTree::Group(group)) => walk(&group.stream(), visit),
            (Walk::On | Walk::Over, _) => {}
        }
    }
}

#[cfg(test)]
mod tests;

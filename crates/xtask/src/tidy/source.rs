//! A Rust file: its text, its tokens, and which part of it is tests.

use anyhow::Result;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use super::tokens;
use crate::codegen;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Product,
    Test,
    Bench,
    Generated,
}

pub(crate) struct SourceFile {
    /// Path from the root of the workspace, `/`-separated.
    pub(crate) path: String,
    pub(crate) class: Class,
    pub(crate) claims_generated: bool,
    pub(crate) syntax: syn::File,
    /// The tokens without inline test modules and other items behind `cfg(test)`.
    pub(crate) product: TokenStream,
    /// Lines of the file without those items.
    pub(crate) lines: usize,
}

impl SourceFile {
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            not_rust(path, error.span(), &error.to_string())
        })?;
        let syntax = syn::parse2(tokens.clone())
            .map_err(|error| not_rust(path, error.span(), &error.to_string()))?;
        let mut test_lines = 0;
        let product = without_tests(tokens, &mut test_lines);
        Ok(Self {
            path: path.to_owned(),
            class: classify(path),
            claims_generated: claims_generated(text),
            syntax,
            product,
            lines: text.lines().count() - test_lines,
        })
    }

    pub(crate) fn is_product(&self) -> bool {
        self.class == Class::Product
    }

    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The files that this one declares by `mod name;`.
    fn declared(&self) -> Vec<Declared> {
        let folder = match self.path.rsplit_once('/') {
            Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
            _ => self.path.strip_suffix(".rs").unwrap_or(&self.path),
        };
        let is_test = |attr: &syn::Attribute| match &attr.meta {
            syn::Meta::List(list) => {
                list.path.is_ident("cfg") && names_test_only(list.tokens.clone())
            }
            syn::Meta::Path(_) | syn::Meta::NameValue(_) => false,
        };
        let modules = self.syntax.items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() => Some(Declared {
                path: format!("{folder}/{}", module.ident),
                for_tests: module.attrs.iter().any(is_test),
            }),
            _ => None,
        });
        modules.collect()
    }
}

struct Declared {
    /// Without `.rs`.
    path: String,
    for_tests: bool,
}

/// Marks the files behind `#[cfg(test)] mod name;` as tests, whatever they are called, unless they
/// are declared a second time for the product.
pub(crate) fn mark_test_modules(sources: &mut [SourceFile]) {
    let (tests, shipped): (Vec<Declared>, Vec<Declared>) =
        sources.iter().flat_map(SourceFile::declared).partition(|module| module.for_tests);
    let only_tests: Vec<&Declared> =
        tests.iter().filter(|test| shipped.iter().all(|of| of.path != test.path)).collect();
    for source in sources {
        let behind_test = only_tests.iter().any(|module| {
            source
                .path
                .strip_prefix(module.path.as_str())
                .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        if behind_test {
            source.class = Class::Test;
        }
    }
}

fn not_rust(path: &str, span: Span, why: &str) -> anyhow::Error {
    anyhow::anyhow!("{path}:{}: not valid Rust: {why}", span.start().line)
}

/// By the folder of the crate. What stands under `src` is product until `#[cfg(test)]` says otherwise.
fn classify(path: &str) -> Class {
    if codegen::writes(path) {
        return Class::Generated;
    }
    match path.split('/').nth(2) {
        Some("benches") => Class::Bench,
        Some("tests") => Class::Test,
        _ => Class::Product,
    }
}

/// Whether the first lines say so: tools and readers skip such a file.
pub(crate) fn claims_generated(text: &str) -> bool {
    text.lines().take(5).any(|line| line.contains("@generated"))
}

/// Copies `stream` without the items behind `#[cfg(test)]` and `#[test]`, adding the lines that
/// they take up to `dropped_lines`.
fn without_tests(stream: TokenStream, dropped_lines: &mut usize) -> TokenStream {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut kept = Vec::with_capacity(trees.len());
    let mut at = 0;
    while at < trees.len() {
        if starts_test_attribute(&trees[at..]) {
            let end = at + length_of_attributed(&trees[at..]);
            let first = trees[at].span().start().line;
            let last = trees[end - 1].span().end().line;
            *dropped_lines += last - first + 1;
            at = end;
            continue;
        }
        kept.push(match &trees[at] {
            TokenTree::Group(group) => {
                let inner = without_tests(group.stream(), dropped_lines);
                TokenTree::Group(tokens::group_with(group, inner))
            }
            tree => tree.clone(),
        });
        at += 1;
    }
    kept.into_iter().collect()
}

fn starts_test_attribute(trees: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = trees else {
        return false;
    };
    if hash.as_char() != '#' || group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    match inside.as_slice() {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(condition)] => {
            name == "cfg" && names_test_only(condition.stream())
        }
        _ => false,
    }
}

/// `test` or `all(test, …)`: compiled for this crate's own tests and for nothing else.
fn names_test_only(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(group)] if name == "all" => {
            group.stream().into_iter().any(|tree| tree.to_string() == "test")
        }
        _ => false,
    }
}

/// How many tokens an attribute and the thing it stands on take. An item ends with its braces or
/// its semicolon; a field, a variant or an arm with its comma.
fn length_of_attributed(trees: &[TokenTree]) -> usize {
    const ITEM: &[&str] = &[
        "async",
        "const",
        "enum",
        "extern",
        "fn",
        "impl",
        "macro_rules",
        "mod",
        "static",
        "struct",
        "trait",
        "type",
        "unsafe",
        "use",
    ];
    let mut at = 0;
    while matches!(&trees[at..], [TokenTree::Punct(hash), TokenTree::Group(_), ..] if hash.as_char() == '#')
    {
        at += 2;
    }
    let is_item = trees[at..]
        .iter()
        .find(|tree| !is_visibility(tree))
        .is_some_and(|tree| ITEM.iter().any(|keyword| tree.to_string() == *keyword));
    let ends = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && is_item,
        TokenTree::Punct(punct) => punct.as_char() == if is_item { ';' } else { ',' },
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    };
    trees[at..].iter().position(ends).map_or(trees.len(), |end| at + end + 1)
}

fn is_visibility(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Ident(name) => name == "pub",
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    }
}

#[cfg(test)]
mod tests;

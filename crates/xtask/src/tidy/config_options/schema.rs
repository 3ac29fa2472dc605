//! Reads the options from the structs in `config.rs` files.
//!
//! A struct that derives `Deserialize` and is named `…Config` is a section: `StorageConfig` is
//! `[storage]`, a field of such a type is a section inside of its own. `Config` is the root. A
//! `Vec` of sections is `[[field]]`, a map of sections is `[field.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use syn::{Attribute, GenericArgument, Item, ItemStruct, PathArguments, Type};

use crate::tidy::source::SourceFile;

/// The options of the whole configuration.
#[derive(Default)]
pub(super) struct Schema {
    pub(super) options: Vec<ConfigOption>,
    /// Sections whose name is taken by another struct.
    pub(super) doubled: Vec<Doubled>,
}

pub(super) struct Doubled {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) line: usize,
}

pub(super) struct ConfigOption {
    pub(super) path: OptionPath,
    pub(super) file: String,
    pub(super) line: usize,
}

#[derive(Clone, Default)]
pub(super) struct OptionPath(Vec<Step>);

#[derive(Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    /// The key of a map, chosen by the user.
    Any,
}

struct Section<'a> {
    file: &'a str,
    item: &'a ItemStruct,
}

type Sections<'a> = BTreeMap<String, Section<'a>>;

impl Schema {
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SourceFile>) -> Self {
        let mut schema = Self::default();
        let mut sections = Sections::new();
        for (name, section) in files.flat_map(sections_of) {
            let line = section.item.ident.span().start().line;
            let file = section.file.to_owned();
            if sections.insert(name.clone(), section).is_some() {
                schema.doubled.push(Doubled { name, file, line });
            }
        }
        let nested: BTreeSet<String> = sections
            .values()
            .flat_map(|section| section.item.fields.iter())
            .filter_map(|field| Some(section_type(&field.ty, &sections)?.name))
            .collect();
        for (name, section) in sections.iter().filter(|(name, _)| !nested.contains(*name)) {
            let start = match name.strip_suffix("Config") {
                Some("") | None => OptionPath::default(),
                Some(name) => OptionPath::default().key(&snake_case(name)),
            };
            schema.collect(section, &start, &sections);
        }
        schema
    }

    fn collect(&mut self, section: &Section<'_>, path: &OptionPath, sections: &Sections<'_>) {
        for field in &section.item.fields {
            let Some(ident) = &field.ident else { continue };
            let serde = SerdeField::read(&field.attrs);
            if serde.skipped {
                continue;
            }
            let own = path.key(&serde.name.unwrap_or_else(|| ident.to_string()));
            match section_type(&field.ty, sections) {
                Some(inner) => {
                    let start = match inner.shape {
                        _ if serde.flattened => path.clone(),
                        Shape::One => own,
                        Shape::Map => own.any(),
                    };
                    self.collect(&sections[&inner.name], &start, sections);
                }
                None => self.options.push(ConfigOption {
                    path: own,
                    file: section.file.to_owned(),
                    line: ident.span().start().line,
                }),
            }
        }
    }
}

impl OptionPath {
    fn key(&self, key: &str) -> Self {
        let mut longer = self.clone();
        longer.0.push(Step::Key(key.to_owned()));
        longer
    }

    fn any(mut self) -> Self {
        self.0.push(Step::Any);
        self
    }

    pub(super) fn matches(&self, path: &[String]) -> bool {
        self.0.len() == path.len() && self.covers(path)
    }

    /// Whether `path` is this option or lies inside its value.
    pub(super) fn covers(&self, path: &[String]) -> bool {
        path.len() >= self.0.len()
            && self.0.iter().zip(path).all(|(step, part)| match step {
                Step::Key(key) => key == part,
                Step::Any => true,
            })
    }
}

impl fmt::Display for OptionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.0.iter().map(|step| match step {
            Step::Key(key) => key.as_str(),
            Step::Any => "*",
        });
        f.write_str(&steps.collect::<Vec<_>>().join("."))
    }
}

fn sections_of(source: &SourceFile) -> impl Iterator<Item = (String, Section<'_>)> {
    source.syntax.items.iter().filter_map(|item| match item {
        Item::Struct(item) if derives_deserialize(item) => {
            let name = item.ident.to_string();
            let section = Section { file: &source.path, item };
            name.ends_with("Config").then_some((name, section))
        }
        _ => None,
    })
}

fn derives_deserialize(item: &ItemStruct) -> bool {
    item.attrs.iter().filter(|attr| attr.path().is_ident("derive")).any(|attr| {
        let mut found = false;
        let parsed = attr.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == "Deserialize");
            Ok(())
        });
        parsed.is_ok() && found
    })
}

struct Inner {
    name: String,
    shape: Shape,
}

enum Shape {
    One,
    Map,
}

/// The section that a field holds, looking into `Option`, `Box`, `Vec` and maps.
fn section_type(ty: &Type, sections: &Sections<'_>) -> Option<Inner> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let name = last.ident.to_string();
    if sections.contains_key(&name) {
        return Some(Inner { name, shape: Shape::One });
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let inner = arguments.args.iter().rev().find_map(|argument| match argument {
        GenericArgument::Type(ty) => section_type(ty, sections),
        _ => None,
    })?;
    Some(if name.ends_with("Map") { Inner { shape: Shape::Map, ..inner } } else { inner })
}

#[derive(Default)]
struct SerdeField {
    name: Option<String>,
    skipped: bool,
    flattened: bool,
}

impl SerdeField {
    fn read(attrs: &[Attribute]) -> Self {
        let mut read = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            // What is not understood here, such as `default = "…"`, does not change the name.
            let _ = attr.parse_nested_meta(|meta| {
                read.skipped |=
                    meta.path.is_ident("skip") || meta.path.is_ident("skip_deserializing");
                read.flattened |= meta.path.is_ident("flatten");
                if meta.input.peek(syn::Token![=]) {
                    let value: syn::Lit = meta.value()?.parse()?;
                    if let (true, syn::Lit::Str(name)) = (meta.path.is_ident("rename"), value) {
                        read.name = Some(name.value());
                    }
                }
                Ok(())
            });
        }
        read
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

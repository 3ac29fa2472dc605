//! What a value can look like, and whether it does.

use serde_json::{Map, Value};

use super::catalogue::{self, Function};
use super::fault::Fault;
use super::format;

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Shape {
    Anything,
    /// Anything but null.
    Given,
    Text,
    Number,
    /// A whole number that is not negative.
    Count,
    Flag,
    Uri,
    /// `#RRGGBB`
    Color,
    /// One of these.
    Word(&'static [&'static str]),
    /// A literal, a binding or a call of a function.
    Dynamic(Gives),
    /// The same, where a literal is a date, a time, or both.
    Moment,
    /// The id of a component.
    Id,
    /// The ids of components, or a template for the items of a list.
    Children,
    /// One of these, a path to draw, or a binding.
    Icon(&'static [&'static str]),
    List {
        of: &'static Shape,
        least: usize,
    },
    /// An object in which each value looks like this.
    Map(&'static Shape),
    /// These fields, and no others.
    Object(&'static [Field]),
    /// These fields, and any others.
    Open(&'static [Field]),
    /// Exactly one of these fields.
    Either(&'static [Field]),
    /// A call of any function.
    Call,
}

/// What a dynamic value gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    Text,
    Number,
    Flag,
    Texts,
    Any,
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    is_needed: bool,
}

/// A field that has to be there.
pub(super) const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, is_needed: true }
}

/// A field that may be there.
pub(super) const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, is_needed: false }
}

const BINDING: &[Field] = &[must("path", Shape::Text)];
const TEMPLATE: &[Field] = &[must("componentId", Shape::Id), must("path", Shape::Text)];
const SVG: &[Field] = &[must("svgPath", Shape::Text)];

impl Shape {
    /// Whether a value looks like this.
    pub(super) fn check(&self, value: &Value) -> Result<(), Fault> {
        let expect = |is_it: bool, what: &str| match is_it {
            true => Ok(()),
            false => Err(Fault::shape(format!("{what} is expected"))),
        };
        match self {
            Self::Anything => Ok(()),
            Self::Given => expect(!value.is_null(), "a value"),
            Self::Text => expect(value.is_string(), "a text"),
            Self::Id => expect(value.is_string(), "the id of a component"),
            Self::Number => expect(value.is_number(), "a number"),
            Self::Count => expect(is_count(value), "a whole number from 0 on"),
            Self::Flag => expect(value.is_boolean(), "true or false"),
            Self::Uri => expect(value.as_str().is_some_and(format::is_uri), "a URI"),
            Self::Color => {
                expect(value.as_str().is_some_and(format::is_color), "a color like \"#00BFFF\"")
            }
            Self::Word(words) => check_word(words, value),
            Self::Dynamic(gives) => gives.check(value),
            Self::Moment => check_moment(value),
            Self::Children => check_children(value),
            Self::Icon(words) => match value {
                Value::Object(map) if map.contains_key("svgPath") => object(SVG, value),
                Value::Object(_) => object(BINDING, value),
                _ => check_word(words, value),
            },
            Self::List { of, least } => check_list(of, *least, value),
            Self::Map(of) => each(as_object(value)?, |item| of.check(item)),
            Self::Object(fields) => object(fields, value),
            Self::Open(fields) => known(fields.iter(), as_object(value)?),
            Self::Either(fields) => either(fields, value),
            Self::Call => call(value).map(drop),
        }
    }

    /// Adds the ids of components that a value of this shape names.
    pub(super) fn references<'a>(&self, value: &'a Value, found: &mut Vec<&'a str>) {
        match (self, value) {
            (Self::Id, Value::String(id)) => found.push(id),
            (Self::Children, Value::Array(ids)) => {
                found.extend(ids.iter().filter_map(Value::as_str));
            }
            (Self::Children, Value::Object(template)) => {
                found.extend(template.get("componentId").and_then(Value::as_str));
            }
            (Self::List { of, .. }, Value::Array(items)) => {
                items.iter().for_each(|item| of.references(item, found));
            }
            (Self::Object(fields), Value::Object(map)) => {
                for field in *fields {
                    let value = map.get(field.name);
                    value.into_iter().for_each(|value| field.shape.references(value, found));
                }
            }
            _ => {}
        }
    }
}

impl Gives {
    fn check(self, value: &Value) -> Result<(), Fault> {
        let is_literal = match (self, value) {
            (Self::Any, Value::Array(_)) => true,
            (Self::Text | Self::Any, Value::String(_)) => true,
            (Self::Number | Self::Any, Value::Number(_)) => true,
            (Self::Flag | Self::Any, Value::Bool(_)) => true,
            (Self::Texts, Value::Array(items)) => {
                return items.iter().enumerate().try_for_each(|(n, item)| {
                    Shape::Text.check(item).map_err(|fault| fault.under(n))
                });
            }
            _ => false,
        };
        match value {
            _ if is_literal => Ok(()),
            Value::Object(map) if map.contains_key("call") => self.check_call(value, map),
            Value::Object(map) if map.contains_key("path") => object(BINDING, value),
            _ => Err(Fault::shape(format!(
                "{}, a binding {{\"path\": …}} or a function {{\"call\": …}} is expected",
                self.literal()
            ))),
        }
    }

    /// A function that says what it returns has to return this.
    fn check_call(self, value: &Value, map: &Map<String, Value>) -> Result<(), Fault> {
        let function = call(value)?;
        match (self.returns(), map.get("returnType")) {
            (Some(wanted), Some(_)) if wanted != function.returns => {
                let what = format!("a function that gives {} is expected here", self.literal());
                Err(Fault::shape(what).under("returnType"))
            }
            _ => Ok(()),
        }
    }

    fn returns(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("string"),
            Self::Number => Some("number"),
            Self::Flag => Some("boolean"),
            Self::Texts => Some("array"),
            Self::Any => None,
        }
    }

    fn literal(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::Texts => "a list of texts",
            Self::Any => "a text, a number, true or false, a list",
        }
    }
}

/// Whether an object has these fields, and no others.
pub(super) fn object(fields: &'static [Field], value: &Value) -> Result<(), Fault> {
    fields_of(fields.iter(), as_object(value)?)
}

/// The same of the fields themselves.
pub(super) fn fields_of(
    fields: impl Iterator<Item = &'static Field> + Clone,
    map: &Map<String, Value>,
) -> Result<(), Fault> {
    known(fields.clone(), map)?;
    match map.keys().find(|key| fields.clone().all(|field| field.name != key.as_str())) {
        Some(key) => {
            let names: Vec<_> = fields.map(|field| field.name).collect();
            let what = format!("there is no such field here; known are {}", names.join(", "));
            Err(Fault::shape(what).under(key))
        }
        None => Ok(()),
    }
}

/// Whether an object has exactly one of these fields, and nothing else.
fn either(fields: &[Field], value: &Value) -> Result<(), Fault> {
    let map = as_object(value)?;
    let Some(field) = fields.iter().find(|field| map.contains_key(field.name)) else {
        let names: Vec<_> = fields.iter().map(|field| field.name).collect();
        return Err(Fault::shape(format!("one of {} is expected", names.join(", "))));
    };
    if let Some(other) = map.keys().find(|key| *key != field.name) {
        let what = format!("nothing is expected beside {}", field.name);
        return Err(Fault::shape(what).under(other));
    }
    field.shape.check(&map[field.name]).map_err(|fault| fault.under(field.name))
}

pub(super) fn as_object(value: &Value) -> Result<&Map<String, Value>, Fault> {
    value.as_object().ok_or_else(|| Fault::shape("an object is expected"))
}

/// Whether what is known of an object is as it has to be.
fn known(
    fields: impl Iterator<Item = &'static Field>,
    map: &Map<String, Value>,
) -> Result<(), Fault> {
    for field in fields {
        match map.get(field.name) {
            Some(value) => field.shape.check(value).map_err(|fault| fault.under(field.name))?,
            None if field.is_needed => {
                return Err(Fault::shape("it is missing").under(field.name));
            }
            None => {}
        }
    }
    Ok(())
}

fn each(
    map: &Map<String, Value>,
    check: impl Fn(&Value) -> Result<(), Fault>,
) -> Result<(), Fault> {
    map.iter().try_for_each(|(key, value)| check(value).map_err(|fault| fault.under(key)))
}

/// The function of a call that is one.
fn call(value: &Value) -> Result<&'static Function, Fault> {
    let map = as_object(value)?;
    let name = map.get("call").and_then(Value::as_str);
    let function = name.and_then(catalogue::function_named).ok_or_else(|| {
        let names: Vec<_> = catalogue::FUNCTIONS.iter().map(|function| function.name).collect();
        let what = format!("the name of a function is expected: {}", names.join(", "));
        Fault::shape(what).under("call")
    })?;
    if let Some(key) =
        map.keys().find(|key| !matches!(key.as_str(), "call" | "args" | "returnType"))
    {
        let what = "a call has call, args and returnType, and nothing else";
        return Err(Fault::shape(what).under(key));
    }
    if map.get("returnType").is_some_and(|returns| returns != function.returns) {
        let what = format!("{} gives \"{}\"", function.name, function.returns);
        return Err(Fault::shape(what).under("returnType"));
    }
    let args = map.get("args").ok_or_else(|| Fault::shape("it is missing").under("args"))?;
    arguments(function, args).map_err(|fault| fault.under("args"))?;
    Ok(function)
}

fn arguments(function: &Function, args: &Value) -> Result<(), Fault> {
    let map = as_object(args)?;
    fields_of(function.args.iter(), map)?;
    each(map, |value| Shape::Given.check(value))?;
    let is_there = |name: &&str| map.contains_key(*name);
    if !function.one_of.is_empty() && !function.one_of.iter().any(is_there) {
        let what = format!("one of {} is expected", function.one_of.join(", "));
        return Err(Fault::shape(what));
    }
    Ok(())
}

fn check_word(words: &[&str], value: &Value) -> Result<(), Fault> {
    if value.as_str().is_some_and(|word| words.contains(&word)) {
        return Ok(());
    }
    Err(Fault::shape(format!("one of {} is expected", words.join(", "))))
}

fn check_moment(value: &Value) -> Result<(), Fault> {
    match value {
        Value::String(text) if !format::is_moment(text) => {
            Err(Fault::shape("a date, a time or both is expected, as in \"2026-01-16T14:30:00Z\""))
        }
        _ => Gives::Text.check(value),
    }
}

fn check_children(value: &Value) -> Result<(), Fault> {
    match value {
        Value::Object(_) => object(TEMPLATE, value),
        _ => check_list(&Shape::Id, 0, value),
    }
}

fn check_list(of: &Shape, least: usize, value: &Value) -> Result<(), Fault> {
    let Some(items) = value.as_array().filter(|items| items.len() >= least) else {
        let what = match least {
            0 => "a list is expected".to_owned(),
            least => format!("a list of at least {least} is expected"),
        };
        return Err(Fault::shape(what));
    };
    let mut items = items.iter().enumerate();
    items.try_for_each(|(n, item)| of.check(item).map_err(|fault| fault.under(n)))
}

/// JSON knows no whole numbers: 1.0 is one.
fn is_count(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

//! The data of a surface, by JSON pointers.

use serde_json::{Map, Value};

use super::MAX_NESTING;
use super::fault::Fault;

/// The value at a place, if there is one.
pub(super) fn get<'a>(data: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).try_fold(data, |place, step| match place {
        Value::Object(map) => map.get(&step),
        Value::Array(list) => list.get(index(&step)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Puts a value at a place. What is missing on the way is made: a list where a number follows, otherwise
/// an object.
pub(super) fn put(data: &mut Value, path: &str, value: Value) -> Result<(), Fault> {
    let steps: Vec<String> = steps(path).take(MAX_NESTING + 1).collect();
    if steps.len() > MAX_NESTING {
        return Err(Fault::limit(format!("a path has at most {MAX_NESTING} parts")));
    }
    let mut place = data;
    for step in &steps {
        if place.is_null() {
            *place = match index(step) {
                Some(_) => Value::Array(Vec::new()),
                None => Value::Object(Map::new()),
            };
        }
        place = match place {
            Value::Object(map) => map.entry(step.as_str()).or_insert(Value::Null),
            Value::Array(list) => {
                let at = index(step).filter(|at| *at <= list.len());
                let at = at.ok_or_else(|| no_such_place(step))?;
                if at == list.len() {
                    list.push(Value::Null);
                }
                &mut list[at]
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(no_such_place(step));
            }
        };
    }
    *place = value;
    Ok(())
}

/// Takes away what is at a place, if there is something. In a list null takes its place, so that what is
/// behind it keeps its number.
pub(super) fn remove(data: &mut Value, path: &str) {
    let steps: Vec<String> = steps(path).collect();
    let Some((last, way)) = steps.split_last() else {
        *data = Value::Object(Map::new());
        return;
    };
    let mut place = data;
    for step in way {
        let inner = match place {
            Value::Object(map) => map.get_mut(step),
            Value::Array(list) => index(step).and_then(|at| list.get_mut(at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        let Some(inner) = inner else { return };
        place = inner;
    }
    match place {
        Value::Object(map) => drop(map.remove(last)),
        Value::Array(list) => {
            if let Some(item) = index(last).and_then(|at| list.get_mut(at)) {
                *item = Value::Null;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A path of a component, which begins where its list is unless it begins at the root.
pub(super) fn within(scope: &str, path: &str) -> String {
    match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{scope}/{path}"),
    }
}

fn steps(path: &str) -> impl Iterator<Item = String> {
    // An empty part is none, so that "/" is the root, and an end with "/" changes nothing.
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| part.replace("~1", "/").replace("~0", "~"))
}

fn index(step: &str) -> Option<usize> {
    let is_number = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| step.parse().ok())?
}

fn no_such_place(step: &str) -> Fault {
    Fault::limit(format!("there is no place \"{step}\" in the data, and none can be made"))
}

//! Dynamic values, as far as they can be told without a client.

use serde_json::Value;

use crate::a2ui::{MAX_NESTING, Surface, data};

/// More decimals than this are not told.
const MOST_DECIMALS: usize = 12;

/// What a dynamic value says.
pub(super) fn text(surface: &Surface, dynamic: Option<&Value>, scope: &str) -> String {
    plain(&value(surface, dynamic, scope))
}

/// What a dynamic value is; null where it cannot be told.
pub(super) fn value(surface: &Surface, dynamic: Option<&Value>, scope: &str) -> Value {
    Reader { surface, scope }.value(dynamic.unwrap_or(&Value::Null), MAX_NESTING)
}

/// A value in words; nothing for what is none.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null | Value::Object(_) => String::new(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
    }
}

struct Reader<'a> {
    surface: &'a Surface,
    scope: &'a str,
}

impl Reader<'_> {
    fn value(&self, dynamic: &Value, depth: usize) -> Value {
        let Value::Object(map) = dynamic else { return dynamic.clone() };
        if let Some(path) = map.get("path").and_then(Value::as_str) {
            return self.at(path);
        }
        match (map.get("call").and_then(Value::as_str), map.get("args"), depth.checked_sub(1)) {
            (Some(name), Some(args), Some(depth)) => self.call(name, args, depth),
            _ => Value::Null,
        }
    }

    fn at(&self, path: &str) -> Value {
        let path = data::within(self.scope, path);
        data::get(self.surface.data(), &path).cloned().unwrap_or_default()
    }

    /// What a function gives. A date is shown as it is: how it is written depends on who reads it.
    fn call(&self, name: &str, args: &Value, depth: usize) -> Value {
        let of = |name: &str| args.get(name).map(|value| self.value(value, depth));
        let value = of("value").unwrap_or_default();
        let said = |name: &str| of(name).map(|value| plain(&value));
        match name {
            "formatDate" => value,
            "formatString" => Value::String(self.filled(&plain(&value))),
            "formatNumber" => Value::String(number(&value, of("decimals"), of("grouping"), None)),
            "formatCurrency" => {
                let amount = number(&value, of("decimals"), of("grouping"), Some(2));
                Value::String(format!("{amount} {}", said("currency").unwrap_or_default()))
            }
            "pluralize" => {
                let is_one = value.as_f64() == Some(1.0);
                let one = said("one").filter(|_| is_one);
                Value::String(one.or_else(|| said("other")).unwrap_or_default())
            }
            "required" => Value::Bool(!plain(&value).is_empty()),
            "not" => value.as_bool().map_or(Value::Null, |flag| Value::Bool(!flag)),
            "and" | "or" => {
                let values = args.get("values").and_then(Value::as_array).into_iter().flatten();
                let mut flags = values.map(|of| self.value(of, depth) == Value::Bool(true));
                Value::Bool(if name == "and" {
                    flags.all(|flag| flag)
                } else {
                    flags.any(|flag| flag)
                })
            }
            _ => Value::Null,
        }
    }

    /// A text with the values of its paths. What else is between braces only a client can tell.
    fn filled(&self, template: &str) -> String {
        let (mut told, mut rest) = (String::new(), template);
        while let Some((before, from)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('\\') {
                told.push_str(before);
                told.push_str("${");
                rest = from;
                continue;
            }
            told.push_str(before);
            let Some((path, after)) = from.split_once('}') else {
                told.push('…');
                return told;
            };
            match path.contains('(') {
                true => told.push('…'),
                false => told.push_str(&plain(&self.at(path.trim()))),
            }
            rest = after;
        }
        told + rest
    }
}

/// A number as people write it.
fn number(
    value: &Value,
    decimals: Option<Value>,
    grouping: Option<Value>,
    usual: Option<usize>,
) -> String {
    let Some(number) = value.as_f64() else { return plain(value) };
    let wanted =
        decimals.and_then(|wanted| wanted.as_u64()).and_then(|wanted| wanted.try_into().ok());
    let written = match wanted.or(usual) {
        Some(decimals) => format!("{number:.*}", decimals.min(MOST_DECIMALS)),
        None => plain(value),
    };
    match grouping {
        Some(Value::Bool(false)) => written,
        _ => grouped(&written),
    }
}

fn grouped(written: &str) -> String {
    let (whole, rest) = written.split_at(written.find('.').unwrap_or(written.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return written.to_owned();
    }
    let mut told = sign.to_owned();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told + rest
}

//! A surface as text, for those who see no user interface.

mod values;

use serde_json::{Map, Value};

use super::{ROOT, Surface, data};
use values::{plain, text};

/// How much is shown of a surface, in bytes.
const MOST_BYTES: usize = 8 * 1024;
/// How many components are: one can be repeated for each item of a list.
const MOST_COMPONENTS: usize = 1_000;

/// What a surface shows, line by line.
pub fn render(surface: &Surface) -> String {
    let mut pen = Pen { surface, left: MOST_COMPONENTS, bytes: MOST_BYTES };
    let mut lines = pen.component(ROOT, "", super::MAX_NESTING);
    if pen.left == 0 || pen.bytes == 0 {
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

struct Pen<'a> {
    surface: &'a Surface,
    left: usize,
    bytes: usize,
}

impl Pen<'_> {
    /// The lines of a component, whose relative paths begin at `scope`.
    fn component(&mut self, id: &str, scope: &str, depth: usize) -> Vec<String> {
        let Some(fields) = self.surface.component(id).filter(|_| depth > 0) else {
            return Vec::new();
        };
        if self.left == 0 || self.bytes == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let lines = self.drawn(fields, scope, depth - 1);
        // What holds others repeats their lines, which have been counted.
        if !has_children(fields) {
            let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        lines
    }

    fn drawn(&mut self, fields: &Map<String, Value>, scope: &str, depth: usize) -> Vec<String> {
        let surface = self.surface;
        let of = |name: &str| text(surface, fields.get(name), scope);
        let labelled = |value: String| match of("label") {
            label if label.is_empty() => value,
            label => format!("{label}: {value}"),
        };
        let child = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        match fields.get("component").and_then(Value::as_str).unwrap_or_default() {
            "Text" => of("text").lines().map(str::to_owned).collect(),
            "Image" => vec![media("image", &of("description"), &of("url"))],
            "Video" => vec![media("video", "", &of("url"))],
            "AudioPlayer" => vec![media("audio", &of("description"), &of("url"))],
            "Row" => row(self.children(fields, scope, depth)),
            "Column" => self.children(fields, scope, depth).concat(),
            "List" => listed(self.children(fields, scope, depth)),
            "Card" => self.component(child("child"), scope, depth),
            "Tabs" => self.tabs(fields, scope, depth),
            "Modal" => {
                let mut lines = self.component(child("trigger"), scope, depth);
                lines.extend(indented(self.component(child("content"), scope, depth)));
                lines
            }
            "Divider" if child("axis") == "vertical" => vec!["|".to_owned()],
            "Divider" => vec!["---".to_owned()],
            "Button" => {
                vec![format!("[{}]", self.component(child("child"), scope, depth).join(" "))]
            }
            "TextField" if child("variant") == "obscured" => {
                vec![labelled(if of("value").is_empty() { "____" } else { "••••" }.to_owned())]
            }
            "TextField" | "DateTimeInput" => vec![labelled(match of("value") {
                value if value.is_empty() => "____".to_owned(),
                value => value,
            })],
            "CheckBox" => {
                let mark = if of("value") == "true" { "[x]" } else { "[ ]" };
                vec![format!("{mark} {}", of("label"))]
            }
            "Slider" => {
                let bounds = (fields.get("min").map_or("0".into(), plain), of("max"));
                vec![labelled(format!("{} ({}–{})", of("value"), bounds.0, bounds.1))]
            }
            "ChoicePicker" => self.choices(fields, scope),
            // An icon says something only in words.
            _ => text(surface, fields.get("accessibility").and_then(|of| of.get("label")), scope)
                .lines()
                .map(|label| format!("({label})"))
                .collect(),
        }
    }

    /// The lines of each child; one for each item where they come of a list.
    fn children(
        &mut self,
        fields: &Map<String, Value>,
        scope: &str,
        depth: usize,
    ) -> Vec<Vec<String>> {
        match fields.get("children") {
            Some(Value::Array(ids)) => {
                let ids = ids.iter().filter_map(Value::as_str);
                ids.map(|id| self.component(id, scope, depth)).collect()
            }
            Some(Value::Object(template)) => {
                let part = |name| template.get(name).and_then(Value::as_str).unwrap_or_default();
                let path = data::within(scope, part("path"));
                let items = data::get(self.surface.data(), &path);
                let count = items.and_then(Value::as_array).map_or(0, Vec::len);
                let count = count.min(self.left);
                let item = |n| self.component(part("componentId"), &format!("{path}/{n}"), depth);
                (0..count).map(item).collect()
            }
            _ => Vec::new(),
        }
    }

    fn tabs(&mut self, fields: &Map<String, Value>, scope: &str, depth: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for tab in fields.get("tabs").and_then(Value::as_array).into_iter().flatten() {
            lines.push(format!("{}:", text(self.surface, tab.get("title"), scope)));
            let child = tab.get("child").and_then(Value::as_str).unwrap_or_default();
            lines.extend(indented(self.component(child, scope, depth)));
        }
        lines
    }

    fn choices(&self, fields: &Map<String, Value>, scope: &str) -> Vec<String> {
        let of = |value: Option<&Value>| text(self.surface, value, scope);
        let chosen = values::value(self.surface, fields.get("value"), scope);
        let is_chosen = |option: &Value| {
            let value = option.get("value");
            chosen.as_array().is_some_and(|all| all.iter().any(|one| Some(one) == value))
        };
        let label = of(fields.get("label"));
        let head = (!label.is_empty()).then(|| format!("{label}:"));
        let options = fields.get("options").and_then(Value::as_array).into_iter().flatten();
        let option = |option: &Value| {
            let mark = if is_chosen(option) { "(x)" } else { "( )" };
            format!("{mark} {}", of(option.get("label")))
        };
        head.into_iter().chain(options.map(option)).collect()
    }
}

fn has_children(fields: &Map<String, Value>) -> bool {
    ["children", "child", "tabs", "trigger"].iter().any(|name| fields.contains_key(*name))
}

fn media(what: &str, description: &str, url: &str) -> String {
    match (description, url) {
        ("", "") => format!("[{what}]"),
        ("", only) | (only, "") => format!("[{what}: {only}]"),
        (description, url) => format!("[{what}: {description}, {url}]"),
    }
}

/// What stands beside each other is one line, if each of it is.
fn row(children: Vec<Vec<String>>) -> Vec<String> {
    let shown: Vec<_> = children.into_iter().filter(|lines| !lines.is_empty()).collect();
    match shown.iter().all(|lines| lines.len() == 1) {
        true if shown.is_empty() => Vec::new(),
        true => vec![shown.concat().join("  ")],
        false => shown.concat(),
    }
}

fn listed(children: Vec<Vec<String>>) -> Vec<String> {
    let mut lines = Vec::new();
    for child in children {
        for (n, line) in child.into_iter().enumerate() {
            lines.push(format!("{}{line}", if n == 0 { "- " } else { "  " }));
        }
    }
    lines
}

fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}

//! Text of others, marked as such, so that no model takes it for instructions.

#[cfg(test)]
mod tests;

const OPENS: &str = "<untrusted origin=\"";
const CLOSES: &str = "</untrusted>";

/// Marks a text of others, who came by it through `origin`. It cannot end its own mark.
pub fn marked(origin: &str, text: &str) -> String {
    let inside = text.replace("<untrusted", "<_untrusted").replace("</untrusted", "</_untrusted");
    let origin: String =
        origin.chars().filter(|c| !matches!(c, '<' | '>' | '"') && !c.is_control()).collect();
    format!("{OPENS}{origin}\">\n{inside}\n{CLOSES}")
}

/// The text without its marks, for whoever can take no instructions anyway.
pub(crate) fn unmarked(text: &str) -> String {
    let is_mark = |line: &&str| *line == CLOSES || line.starts_with(OPENS) && line.ends_with("\">");
    text.split('\n').filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n")
}

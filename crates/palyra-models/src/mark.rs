//! Text of others, marked as such, so that no model takes it for instructions.

#[cfg(test)]
mod tests;

const OPENS: &str = "<untrusted origin=\"";
const CLOSES: &str = "</untrusted>";
const WORD: &str = "untrusted";

/// Marks a text of others, who came by it through `origin`. It cannot end its own mark.
pub fn marked(origin: &str, text: &str) -> String {
    let inside = without_marks(text);
    let origin: String =
        origin.chars().filter(|c| !matches!(c, '<' | '>' | '"') && !c.is_control()).collect();
    format!("{OPENS}{origin}\">\n{inside}\n{CLOSES}")
}

/// What looks like a mark to a model, in whichever case and with whatever space, is none.
fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at + 1);
        let name = tag.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
        out.push_str(before);
        out.push_str(&tag[..tag.len() - name.len()]);
        if name.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD)) {
            out.push('_');
        }
        rest = name;
    }
    out.push_str(rest);
    out
}

/// The text without its marks, for whoever can take no instructions anyway.
pub(crate) fn unmarked(text: &str) -> String {
    let is_mark = |line: &&str| *line == CLOSES || line.starts_with(OPENS) && line.ends_with("\">");
    text.split('\n').filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n")
}

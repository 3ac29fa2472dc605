//! The text of a page, for a reader who wants what it says: tags become line ends and marks of
//! lists and headings, scripts and styles go, addresses stand behind their links. Nothing depends on
//! getting broken HTML right: what comes out is somebody else's text either way.

mod entity;
#[cfg(test)]
mod tests;

/// The longest address that is shown.
const MAX_HREF: usize = 500;

/// At most about `most` bytes of text.
pub(super) fn text(html: &str, most: usize) -> String {
    let mut page = Page { text: String::new(), links: Vec::new(), pre: 0 };
    let mut rest = html;
    while !rest.is_empty() && page.text.len() <= most {
        let Some(at) = rest.find('<') else {
            page.say(rest);
            break;
        };
        page.say(&rest[..at]);
        rest = page.tag(&rest[at..]);
    }
    page.text.trim().to_owned()
}

struct Page {
    text: String,
    /// Where the links that are open lead to.
    links: Vec<Option<String>>,
    /// How many open elements keep their blanks.
    pre: usize,
}

impl Page {
    /// Takes what begins with `<`, and says what comes after it.
    fn tag<'a>(&mut self, rest: &'a str) -> &'a str {
        let behind = |mark: &str| rest.find(mark).map_or("", |at| &rest[at + mark.len()..]);
        if rest.starts_with("<!--") {
            return behind("-->");
        }
        if rest.starts_with("<!") || rest.starts_with("<?") {
            return behind(">");
        }
        let closes = rest.starts_with("</");
        let inner = &rest[if closes { 2 } else { 1 }..];
        let name =
            &inner[..inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len())];
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.say("<");
            return &rest[1..];
        }
        let end = end_of_tag(inner);
        let (attributes, after) = (&inner[name.len()..end], inner.get(end + 1..).unwrap_or(""));
        let name = name.to_ascii_lowercase();
        match closes {
            true => self.close(&name),
            false => self.open(&name, attributes),
        }
        match name.as_str() {
            "script" | "style" | "template" | "svg" | "iframe" | "textarea" | "noscript"
                if !closes && !attributes.ends_with('/') =>
            {
                skip(after, &name)
            }
            _ => after,
        }
    }

    fn open(&mut self, name: &str, attributes: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.lines(2);
                let level = name[1..].parse().unwrap_or(1);
                self.text.push_str(&"#".repeat(level));
                self.text.push(' ');
            }
            "li" => {
                self.lines(1);
                self.text.push_str("- ");
            }
            "td" | "th" => self.say(" "),
            "a" => self.links.push(attribute(attributes, "href")),
            "img" => {
                if let Some(alt) = attribute(attributes, "alt").filter(|alt| !alt.trim().is_empty())
                {
                    self.say(&format!("[image: {alt}]"));
                }
            }
            "pre" => {
                self.lines(2);
                self.pre += 1;
            }
            _ => self.around(name),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.lines(2),
            "a" => {
                let href = self.links.pop().flatten();
                let leads = |href: &String| {
                    let href = href.trim_start().to_ascii_lowercase();
                    !href.is_empty()
                        && !["#", "javascript:", "data:"].iter().any(|no| href.starts_with(no))
                };
                if let Some(href) = href.filter(leads) {
                    let shown = super::cut(href.trim(), MAX_HREF);
                    self.text.push_str(&format!(" ({shown})"));
                }
            }
            "pre" => {
                self.pre = self.pre.saturating_sub(1);
                self.lines(2);
            }
            _ => self.around(name),
        }
    }

    /// The line ends before and behind an element.
    fn around(&mut self, name: &str) {
        match name {
            "p" | "table" | "ul" | "ol" | "blockquote" | "section" | "article" | "title" => {
                self.lines(2);
            }
            "div" | "br" | "tr" | "hr" | "header" | "footer" | "nav" | "main" | "aside"
            | "form" | "dl" | "dt" | "dd" | "figure" | "option" | "body" => self.lines(1),
            _ => {}
        }
    }

    /// Ends the text with at least `count` line ends, unless there is none yet.
    fn lines(&mut self, count: usize) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        let there = self.text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        if !self.text.is_empty() {
            self.text.push_str(&"\n".repeat(count.saturating_sub(there)));
        }
    }

    fn say(&mut self, piece: &str) {
        for c in entity::decoded(piece).chars() {
            let blank = c.is_whitespace() && self.pre == 0;
            if !blank {
                self.text.push(c);
            } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }
}

/// Where the tag ends: at the first `>` that is in no value.
fn end_of_tag(inner: &str) -> usize {
    let mut quote = None;
    for (at, byte) in inner.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    inner.len()
}

/// What comes behind the end of an element whose content is not shown.
fn skip<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut at = 0;
    while let Some(found) = rest[at..].find("</") {
        let inner = &rest[at + found + 2..];
        if inner.get(..name.len()).is_some_and(|there| there.eq_ignore_ascii_case(name)) {
            return inner.get(end_of_tag(inner) + 1..).unwrap_or("");
        }
        at += found + 2;
    }
    ""
}

/// The value of an attribute.
fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        if rest.is_empty() {
            return None;
        }
        let name = &rest[..end];
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(entity::decoded(value));
        }
        rest = after;
    }
}

//! Characters that are written as names or numbers.

const NAMED: [(&str, &str); 22] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("copy", "©"),
    ("reg", "®"),
    ("deg", "°"),
    ("euro", "€"),
    ("pound", "£"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("times", "×"),
];
/// The longest that is looked for.
const MAX_CHARS: usize = 10;

/// With the usual ones decoded; others stay as they are.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.char_indices().take(MAX_CHARS).find(|(_, c)| *c == ';').map(|(end, _)| end);
        match end.and_then(|end| Some((one(&rest[..end])?, end))) {
            Some((character, end)) => {
                out.push_str(&character);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn one(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        let found = NAMED.iter().find(|(known, _)| *known == name);
        return found.map(|(_, character)| (*character).to_owned());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|c| *c != '\0').map(String::from)
}

/// What serde says of a value, on one line and without the value, which may be a secret: `"…"` for every
/// text between quotes.
pub fn without_quotations(message: &str) -> String {
    let message = &without_value(message);
    let (mut kept, mut quoted, mut escaped) = (String::new(), false, false);
    for char in message.chars() {
        match char {
            '"' if !escaped => {
                kept.push_str(if quoted { "…\"" } else { "\"" });
                quoted = !quoted;
            }
            '\n' if !quoted => kept.push_str(", "),
            _ if !quoted => kept.push(char),
            _ => {}
        }
        escaped = quoted && char == '\\' && !escaped;
    }
    kept
}

/// What was met instead may be a secret, also where it is a number: `invalid type, expected …`.
fn without_value(message: &str) -> String {
    for (mistake, end) in [
        ("invalid type", ", expected"),
        ("invalid value", ", expected"),
        ("unknown variant", "`, expected"),
    ] {
        // The last one: what was met may have such words, too.
        if let Some((before, met)) = message.split_once(mistake)
            && let Some((_, expected)) = met.rsplit_once(end)
        {
            return format!("{before}{mistake}, expected{expected}");
        }
    }
    message.to_owned()
}

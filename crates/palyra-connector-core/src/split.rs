//! Cutting a text into messages.

#[cfg(test)]
mod tests;

/// Cuts a text into pieces of at most `most` UTF-16 code units, which is what platforms count: at the
/// end of a paragraph if there is one in the last half of a piece, or else of a line, or else of a
/// word, or else anywhere between two characters. Nothing but the blanks at a cut is lost, and no
/// piece is empty. A character that is larger than `most` is a piece of its own.
pub(crate) fn split(text: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let fits = fitting(rest, most);
        let cut = if fits == rest.len() { fits } else { good_cut(rest, fits) };
        let (piece, behind) = rest.split_at(cut);
        let piece = piece.trim_end();
        if !piece.is_empty() {
            pieces.push(piece.to_owned());
        }
        rest = behind.trim_start();
    }
    pieces
}

/// How many bytes of `text` fit; at least its first character.
fn fitting(text: &str, most: usize) -> usize {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > most && at > 0 {
            return at;
        }
    }
    text.len()
}

fn good_cut(text: &str, fits: usize) -> usize {
    let head = &text[..fits];
    let late = |at: &usize| *at > fits / 2;
    let after = |mark: &str| head.rfind(mark).map(|at| at + mark.len()).filter(late);
    after("\n\n").or_else(|| after("\n")).or_else(|| after(" ")).unwrap_or(fits)
}

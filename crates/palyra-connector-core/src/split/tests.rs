use proptest::prelude::*;

use super::split;

#[test]
fn a_short_text_is_one_piece() {
    assert_eq!(split("hello", 10), ["hello"]);
    assert_eq!(split("  ", 10), [""; 0]);
}

#[test]
fn it_is_cut_where_a_reader_would() {
    assert_eq!(split("one two three", 9), ["one two", "three"]);
    assert_eq!(split("one two\nthree four", 12), ["one two", "three four"]);
    assert_eq!(split("a\n\nb b\ncc", 8), ["a\n\nb b", "cc"]);
    assert_eq!(split("abcdef", 4), ["abcd", "ef"]);
}

#[test]
fn what_platforms_count_is_counted() {
    // Each is two units, and four bytes.
    assert_eq!(split("🦀🦀🦀", 4), ["🦀🦀", "🦀"]);
    assert_eq!(split("🦀", 1), ["🦀"]);
}

proptest! {
    #[test]
    fn nothing_but_blanks_is_lost_and_every_piece_fits(text in "(?s).{0,200}", most in 2usize..40) {
        let pieces = split(&text, most);
        for piece in &pieces {
            prop_assert!(!piece.is_empty());
            prop_assert!(piece.encode_utf16().count() <= most, "{piece:?}");
        }
        let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(solid(&pieces.concat()), solid(&text));
    }
}

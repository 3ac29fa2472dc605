use super::{Key, MAX_KEY_CHARS};

#[test]
fn a_key_is_short_and_can_be_seen() {
    for text in ["a", "!", "~", "9b1d-4f", &"k".repeat(MAX_KEY_CHARS)] {
        assert!(Key::parse(text).is_some(), "{text}");
    }
    for text in ["", " ", "a b", "a\t", "\0", "\x7f", "ž", &"k".repeat(MAX_KEY_CHARS + 1)] {
        assert!(Key::parse(text).is_none(), "{text:?}");
    }
}

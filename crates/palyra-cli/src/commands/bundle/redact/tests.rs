use serde_json::json;

use super::*;

#[test]
fn texts_inside_of_json_are_redacted_too() {
    let mut document = json!({"a": ["ply_abcdefghijkl"], "b": {"c": "x://u:p@h"}, "d": 1});
    by_shape(&mut document);
    assert_eq!(document, json!({"a": ["[redacted]"], "b": {"c": "x://u:[redacted]@h"}, "d": 1}));
}

#[test]
fn a_text_that_is_too_long_is_left_out_whole() {
    let longest = "x".repeat(AT_ONCE_BYTES - 3);
    let mut document = json!([longest, format!("{longest}x"), "\n".repeat(AT_ONCE_BYTES / 2)]);
    shorten(&mut document);
    let left_out = |bytes: usize| format!("[left out: {bytes} bytes]");
    let half = left_out(AT_ONCE_BYTES / 2);
    assert_eq!(document, json!([longest, left_out(AT_ONCE_BYTES - 2), half]));
}

#[test]
fn the_daemon_is_asked_in_pieces() {
    let check = |sizes: &[usize], expected: usize| {
        let mut texts: Vec<_> = sizes.iter().map(|size| "x".repeat(*size)).collect();
        let texts: Vec<_> = texts.iter_mut().collect();
        assert_eq!(fitting(&texts), expected, "{sizes:?}");
    };
    check(&[1, 2, 3], 3);
    check(&[AT_ONCE_BYTES, 1], 1);
    check(&[AT_ONCE_BYTES - 7, 1, 1], 2);
    // Nothing but quotation marks and commas is something, too.
    check(&[0; AT_ONCE_BYTES], AT_ONCE_BYTES / 3);
}

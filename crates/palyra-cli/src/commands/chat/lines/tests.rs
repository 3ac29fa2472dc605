use std::io::BufReader;

use super::*;

/// In pieces of a few bytes, as a terminal gives them.
fn lines(typed: &[u8]) -> Vec<String> {
    let mut from = BufReader::with_capacity(7, typed);
    std::iter::from_fn(|| read_line(&mut from).unwrap()).collect()
}

#[test]
fn each_line_is_one_without_its_end() {
    assert_eq!(lines(b"one\ntwo\r\n\nlast"), ["one", "two", "", "last"]);
    assert_eq!(lines(b""), [""; 0]);
    assert_eq!(lines("p\u{159}\u{ed}li\u{161}\n".as_bytes()), ["p\u{159}\u{ed}li\u{161}"]);
}

/// Its rest would be said as a message of its own.
#[test]
fn a_line_that_is_too_long_for_a_message_stays_one_and_too_long() {
    let mut typed = vec![b'x'; 3 * LINE_BYTES];
    typed.extend(b"\nnext\n");
    let lines = lines(&typed);
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0].len(), lines[1].as_str()), (LINE_BYTES, "next"));
}

#[test]
fn what_is_no_text_ends_nothing() {
    assert_eq!(lines(b"a\xffb\nnext\n"), ["a\u{fffd}b", "next"]);
}

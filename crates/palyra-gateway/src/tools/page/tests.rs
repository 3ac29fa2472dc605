use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn pieces_together_are_the_text(text in "[^\\x00]{0,200}", limit in 0_u64..40) {
        let (bytes, mut at, mut read) = (text.as_bytes(), 0_usize, String::new());
        for _ in 0..=bytes.len() {
            let window = usize::try_from(wanted(limit)).unwrap();
            let piece = &bytes[at..bytes.len().min(at + window)];
            let page = page(piece, at as u64, limit).unwrap();
            read.push_str(page.text);
            at = usize::try_from(page.next).unwrap();
            if at == bytes.len() {
                break;
            }
        }
        prop_assert_eq!(read, text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, offset in 0_u64..100, limit: u64) {
        let _ = page(&bytes, offset, limit);
    }
}

#[test]
fn a_piece_may_begin_anywhere() {
    let text = "żółć";
    let page = page(&text.as_bytes()[1..], 1, 100).unwrap();
    assert_eq!((page.text, page.next), ("ółć", 8));
}

#[test]
fn what_is_no_text_is_refused() {
    assert!(page(b"\xff\xfe\x00a", 0, 100).is_err());
    assert!(page(b"a\0b", 0, 100).is_err());
}

#[test]
fn more_is_said_only_when_there_is_more() {
    assert_eq!(more(5, 5), None);
    assert!(more(4, 5).unwrap().contains("\"offset\": 4"));
}

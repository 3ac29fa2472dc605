use std::io::Cursor;

use super::{CommitWatch, Opening, is_commit, read_frame, read_opening};

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

#[test]
fn a_commit_is_told_from_what_looks_like_one() {
    for sql in ["COMMIT", "commit;", " \n\tCoMmIt AND CHAIN", "COMMIT\0", "commit/* */"] {
        assert!(is_commit(sql.as_bytes()), "{sql}");
    }
    for sql in ["", "COMMITTED", "commit_log", "SELECT 'COMMIT'", "ROLLBACK", "COMM IT"] {
        assert!(!is_commit(sql.as_bytes()), "{sql}");
    }
}

#[test]
fn a_prepared_commit_is_seen_when_it_is_executed() {
    let mut watch = CommitWatch::default();
    let mut check = |kind, body: &[u8], expected| {
        assert_eq!(watch.runs_commit(&frame(kind, body)), expected, "{body:?}");
    };
    check(b'Q', b"COMMIT\0", true);
    check(b'Q', b"SELECT 1\0", false);
    check(b'P', b"named\0COMMIT\0\0\0", false);
    check(b'P', b"\0SELECT 1\0\0\0", false);
    check(b'B', b"\0\0\0\0", false);
    check(b'E', b"\0\0\0\0\0", false);
    check(b'B', b"portal\0named\0\0\0", false);
    check(b'E', b"portal\0\0\0\0\0", true);
    check(b'E', b"\0\0\0\0\0", false);
    check(b'B', b"portal\0\0\0\0", false);
    check(b'E', b"portal\0\0\0\0\0", false);
    check(b'B', b"portal\0named\0\0\0", false);
    check(b'C', b"Pportal\0", false);
    check(b'E', b"portal\0\0\0\0\0", false);
    check(b'C', b"Snamed\0", false);
    check(b'B', b"portal\0named\0\0\0", false);
    check(b'E', b"portal\0\0\0\0\0", false);
    check(b'd', b"COMMIT\0", false);
}

#[test]
fn openings_are_told_apart_and_nonsense_is_refused() {
    let opening = |code: u32, rest: &[u8]| {
        let length = u32::try_from(rest.len() + 8).unwrap();
        let bytes = [&length.to_be_bytes()[..], &code.to_be_bytes(), rest].concat();
        let mut raw = Vec::new();
        let found = read_opening(&mut Cursor::new(&bytes), &mut raw).ok();
        assert!(found.is_none() || raw == bytes);
        found
    };
    assert_eq!(opening(3 << 16, b"user\0me\0\0"), Some(Opening::Session));
    assert_eq!(opening(80_877_103, b""), Some(Opening::Encryption));
    assert_eq!(opening(80_877_104, b""), Some(Opening::Encryption));
    assert_eq!(opening(80_877_102, &[0; 8]), Some(Opening::Session));
    assert_eq!(opening(3 << 16, &[0; 10_000]), None);
}

#[test]
fn frames_are_read_whole_until_the_stream_ends() {
    let bytes = [frame(b'Q', b"a\0"), frame(b'S', b"")].concat();
    let (mut source, mut raw) = (Cursor::new(&bytes), Vec::new());
    assert!(read_frame(&mut source, &mut raw).unwrap());
    assert_eq!(raw, frame(b'Q', b"a\0"));
    assert!(read_frame(&mut source, &mut raw).unwrap());
    assert_eq!(raw, frame(b'S', b""));
    assert!(!read_frame(&mut source, &mut raw).unwrap());

    read_frame(&mut Cursor::new(b"Q\0\0\0\x09half"), &mut raw).unwrap_err();
    read_frame(&mut Cursor::new(b"Q\0\0\0\x03"), &mut raw).unwrap_err();
    read_frame(&mut Cursor::new(b"Q\xff\xff\xff\xff"), &mut raw).unwrap_err();
}

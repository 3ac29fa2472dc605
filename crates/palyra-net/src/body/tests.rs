use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Unpacks in pieces of seven bytes, which cut everything somewhere.
fn unpacked(coding: Coding, limit: u64, bytes: &[u8]) -> Result<Bytes, Full> {
    let mut sink = Sink::new(coding, limit);
    for piece in bytes.chunks(7) {
        sink.take(piece)?;
    }
    sink.finish()
}

#[test]
fn a_body_may_fill_its_limit() {
    assert_eq!(unpacked(Coding::Plain, 10, b"0123456789").unwrap(), "0123456789");
    assert_eq!(unpacked(Coding::Plain, 9, b"0123456789"), Err(Full::OverLimit));
    let text = b"hello ".repeat(100);
    assert_eq!(unpacked(Coding::Gzip, 600, &packed(&text)).unwrap(), text);
    assert_eq!(unpacked(Coding::Gzip, 599, &packed(&text)), Err(Full::OverLimit));
}

#[test]
fn what_is_packed_counts_as_well() {
    // So few bytes grow when they are packed.
    let packed = packed(b"few");
    assert!(packed.len() > 3);
    assert_eq!(unpacked(Coding::Gzip, 3, &packed), Err(Full::OverLimit));
    assert_eq!(unpacked(Coding::Gzip, packed.len() as u64, &packed).unwrap(), "few");
}

#[test]
fn a_bomb_is_stopped_at_the_limit() {
    let bomb = packed(&vec![0; 16 << 20]);
    let mut sink = Sink::new(Coding::Gzip, 1 << 20);
    assert_eq!(sink.take(&bomb), Err(Full::OverLimit));
    let Unpacking::Gzip(decoder) = &sink.unpacking else { panic!("not gzip") };
    assert!(decoder.get_ref().bytes.capacity() <= 2 << 20, "more than the limit was kept");
}

#[test]
fn parts_of_gzip_are_one_body_and_its_limit_is_theirs() {
    let parts = packed(&b"one ".repeat(50)).repeat(2);
    assert_eq!(unpacked(Coding::Gzip, 400, &parts).unwrap(), b"one ".repeat(100));
    assert_eq!(unpacked(Coding::Gzip, 399, &parts), Err(Full::OverLimit));
}

#[test]
fn damage_is_told() {
    let whole = packed(b"hello hello hello");
    let mut wrong_sum = whole.clone();
    let at = wrong_sum.len() - 5;
    wrong_sum[at] ^= 1;
    let mut trailing = whole.clone();
    trailing.extend(b"garbage after it");
    for damaged in
        [&whole[..5], &whole[..whole.len() - 3], b"not gzip at all", &wrong_sum, &trailing]
    {
        let result = unpacked(Coding::Gzip, 1_000, damaged);
        assert!(matches!(result, Err(Full::Damaged(_))), "{damaged:?}: {result:?}");
    }
}

#[test]
fn nothing_at_all_is_an_empty_body() {
    assert_eq!(unpacked(Coding::Gzip, 10, b"").unwrap(), "");
    assert_eq!(unpacked(Coding::Plain, 0, b"").unwrap(), "");
}

use std::io::{Cursor, Write};
use std::time::Duration;

use super::{Line, Missing, Output, Stream};

const SOON: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(30);

fn texts(output: &Output) -> Vec<String> {
    output.lines().1.into_iter().map(|line| line.text).collect()
}

#[test]
fn lines_are_split_whole_or_not_ended() {
    let output = Output::keeping(1000);
    output.collect(Stream::Stdout, Cursor::new(b"one\n\nbad \xff\nno newline".to_vec()));
    assert!(output.wait_closed(LONG));
    assert_eq!(texts(&output), ["one", "", "bad \u{fffd}", "no newline"]);
}

#[test]
fn the_oldest_lines_go_and_are_counted() {
    let output = Output::keeping(10);
    output.collect(Stream::Stderr, Cursor::new("aaaa\nbbbb\ncccc\ndddd\n"));
    assert!(output.wait_closed(LONG));
    assert_eq!(texts(&output), ["cccc", "dddd"]);
    assert_eq!(output.text(), "… 2 lines dropped …\nerr | cccc\nerr | dddd\n");
    assert_eq!(output.end(), 4);
}

#[test]
fn a_line_without_end_is_cut_in_pieces() {
    let output = Output::new();
    output.collect(Stream::Stdout, Cursor::new("x".repeat(200_000)));
    assert!(output.wait_closed(LONG));
    assert_eq!(
        texts(&output).iter().map(String::len).collect::<Vec<_>>(),
        [65536, 65536, 65536, 3392]
    );
}

#[test]
fn a_search_sees_each_line_once_and_knows_why_it_failed() {
    let output = Output::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    output.collect(Stream::Stdout, reader);
    let number = |line: &Line| line.text.parse::<u32>().ok();

    assert_eq!(output.find(0, SOON, number), Err(Missing::TimedOut));
    assert!(!output.wait_closed(SOON));
    writer.write_all(b"x\n1\n2\n").unwrap();
    assert_eq!(output.find(0, LONG, number), Ok(1));
    assert_eq!(output.find(2, LONG, number), Ok(2));
    let mut seen = Vec::new();
    let late = std::thread::spawn(move || {
        writer.write_all(b"y\n").unwrap();
    });
    let result = output.find(1, LONG, |line| {
        seen.push(line.text.clone());
        None::<()>
    });
    late.join().unwrap();
    assert_eq!(result, Err(Missing::Closed));
    assert_eq!(seen, ["1", "2", "y"]);
}

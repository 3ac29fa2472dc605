use super::*;

/// What a terminal of `columns` columns shows after all that was written to it.
fn screen(columns: usize, written: &str) -> Vec<String> {
    let (mut rows, mut row, mut column) = (vec![String::new()], 0, 0);
    let mut characters = written.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => {
                (row, column) = (row + 1, 0);
                rows.resize(rows.len().max(row + 1), String::new());
            }
            '\r' => column = 0,
            '\u{1b}' => {
                assert_eq!(characters.next(), Some('['));
                let mut number = String::new();
                while let Some(digit) = characters.next_if(char::is_ascii_digit) {
                    number.push(digit);
                }
                match characters.next() {
                    Some('A') => row -= number.parse::<usize>().unwrap(),
                    Some('J') => {
                        rows.truncate(row + 1);
                        rows[row] = rows[row].chars().take(column).collect();
                    }
                    other => panic!("{other:?}"),
                }
            }
            c => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                    rows.resize(rows.len().max(row + 1), String::new());
                }
                rows[row] = rows[row].chars().take(column).chain([c]).collect();
                column += 1;
            }
        }
    }
    rows
}

#[test]
fn only_what_is_new_is_written() {
    let mut paper = Paper::new(80, 24, true);
    assert_eq!(paper.live("Hel"), "Hel");
    assert_eq!(paper.live("Hello"), "lo");
    assert_eq!(paper.live("Hello"), "");
    assert_eq!(paper.settle(), "\n");
    assert_eq!(paper.settle(), "");
    assert_eq!(paper.live("Again\n"), "Again\n");
    assert_eq!(paper.settle(), "", "the line has ended already");
}

#[test]
fn what_was_given_up_is_taken_back_however_many_rows_it_has() {
    for wrong in ["x", "a line", "two\nlines", "0123456789", "01234567890", "a\n\n0123456789ab\nb"]
    {
        let mut paper = Paper::new(10, 24, true);
        let mut written = "> hi\n".to_owned();
        written += &paper.live(wrong);
        written += &paper.live("");
        written += &paper.live("good");
        written += &paper.settle();
        assert_eq!(screen(10, &written), ["> hi", "good", ""], "{wrong:?}: {written:?}");
    }
}

#[test]
fn what_cannot_be_taken_back_is_said_to_be_given_up() {
    for mut paper in [Paper::new(10, 2, true), Paper::new(10, 24, false)] {
        paper.live("a\nb\nc");
        let written = paper.live("new");
        assert_eq!(written, "\n(this was given up; the answer begins anew)\nnew");
    }
}

#[test]
fn an_answer_does_not_command_the_terminal() {
    let mut paper = Paper::new(80, 24, true);
    let written = paper.live("a\u{1b}[2Jb\nc\u{202e}d");
    assert_eq!(written, "a\\u{1b}[2Jb\nc\\u{202e}d");
}

use super::*;

fn typed(keys: &str) -> Result<String, Failure> {
    only_line(&mut keys.as_bytes(), || Ok(()))
}

#[test]
fn a_line_can_be_corrected_while_it_is_typed() {
    assert_eq!(typed("geheim\r").unwrap(), "geheim");
    assert_eq!(typed("gehx\x7feim\n").unwrap(), "geheim");
    assert_eq!(typed("gr\u{fc}\x7f\u{fc}n\n").unwrap(), "grün");
    assert_eq!(typed("wrong\x15right\n").unwrap(), "right");
    assert_eq!(typed("\x7f\x7fa\x04").unwrap(), "a");
}

#[test]
fn several_lines_are_refused_and_read_to_their_end() {
    for pasted in ["geheim\rrest", "geheim\rrest\r", "geheim\n\nrest\n"] {
        let mut keys = pasted.as_bytes();
        let Err(Failure::Told(told)) = only_line(&mut keys, || Ok(())) else {
            panic!("{pasted:?} has several lines")
        };
        assert!(told.message().contains("pipe it in"), "{}", told.message());
        assert!(keys.is_empty(), "{pasted:?}");
    }
    assert_eq!(typed("geheim\r\n\n").unwrap(), "geheim");
}

#[test]
fn control_c_gives_up() {
    assert!(matches!(typed("geh\x03"), Err(Failure::Interrupted)));
    assert!(matches!(typed("\x04"), Err(Failure::Interrupted)));
}

#[test]
fn one_newline_at_the_end_is_not_part_of_a_secret() {
    assert_eq!(trimmed(b"a\n".to_vec()).unwrap(), "a");
    assert_eq!(trimmed(b"a\n\n".to_vec()).unwrap(), "a\n");
    assert_eq!(trimmed(b" a ".to_vec()).unwrap(), " a ");
    let Err(Failure::Told(told)) = trimmed(vec![b'g', 0xff]) else { panic!("it is not UTF-8") };
    assert!(!told.message().contains('g') || !told.message().contains("ff"));
}

use super::*;

#[test]
fn a_value_stays_whole_whatever_is_in_it() {
    let line = |value: &str| line("A", &value.into());
    assert_eq!(line("ab/c+d=").unwrap(), "A=\"ab/c+d=\"\n");
    assert_eq!(line(r#"a"b$c\d`e"#).unwrap(), "A=\"a\\\"b\\$c\\\\d\\`e\"\n");
    let Failure::Told(told) = line("geheim\nB=1").unwrap_err() else { panic!() };
    assert!(told.message().contains('A') && !told.message().contains("geheim"), "{told}");
}

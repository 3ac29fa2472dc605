use super::*;
use palyra_common::hint::Address;

#[test]
fn columns_are_as_wide_as_what_is_seen() {
    let mut table = Table::new(["NAME", "WHEN", "WHO"]);
    table.row(["日本".into(), "now".into(), "anna".into()]);
    table.row(["x\n".into(), "a while ago".into(), "b".into()]);
    let rendered = table.render(&Output::new(true, Address::default()));
    let expected = "\
NAME  WHEN         WHO
日本  now          anna
x\\n   a while ago  b
";
    assert_eq!(rendered, expected);
}

#[test]
fn no_rows_are_no_lines() {
    assert_eq!(Table::of_fields().render(&Output::new(true, Address::default())), "");
}

use super::*;

fn check(row: &[Value], line: &str) {
    let places: Vec<_> = (0..row.len()).collect();
    let mut written = Vec::new();
    let picked = Picked { row, places: &places };
    picked.read(|columns| encode(&mut written, columns, row.len())).unwrap();
    assert_eq!(String::from_utf8(written.clone()).unwrap(), line);
    assert_eq!(decode(&written, row.len()).unwrap(), row);
}

#[test]
fn every_value_comes_back_as_it_was() {
    check(
        &[Value::Null, Value::Int(i64::MIN), Value::Int(i64::MAX)],
        "[null,-9223372036854775808,9223372036854775807]\n",
    );
    check(&[Value::Text("a\"\n\u{1}ž".into())], "[\"a\\\"\\n\\u0001ž\"]\n");
    check(&[Value::Bytes(vec![0, 255, 10])], "[{\"b\":\"AP8K\"}]\n");
    check(&[Value::Text("{\"b\":\"AA==\"}".into())], "[\"{\\\"b\\\":\\\"AA==\\\"}\"]\n");
}

#[test]
fn what_is_no_row_is_refused() {
    for line in [
        "",
        "[",
        "[1]",
        "[1,2,3]",
        "[1,2.5]",
        "[1,true]",
        "[1,{}]",
        "[1,{\"b\":\"?\"}]",
        "[1,{\"b\":\"\",\"c\":1}]",
        "[1,9223372036854775808]",
        "{\"b\":\"\"}",
    ] {
        assert!(decode(line.as_bytes(), 2).is_err(), "{line}");
    }
}

use super::*;

#[test]
fn nothing_found_is_one_line() {
    let report = render(["layers", "length"].into_iter(), &[], 7);
    assert_eq!(report, "tidy: 2 rules, 7 files, no violations\n");
}

#[test]
fn violations_are_grouped_by_rule_and_share_advice() {
    let violations = [
        Violation::new("length", "b.rs", "has 501 lines", "split it"),
        Violation::new("length", "c.rs", "has 502 lines", "split it"),
        Violation::new("layers", "a/Cargo.toml", "depends upwards", "turn it around").at(3),
        Violation::new("length", "d.rs", "function f has 61 lines", "name its steps").at(9),
    ];
    let report = render(["layers", "length", "sql text"].into_iter(), &violations, 7);
    insta::assert_snapshot!(report, @r"
    layers
      a/Cargo.toml:3: depends upwards
        → turn it around

    length
      b.rs: has 501 lines
      c.rs: has 502 lines
        → split it
      d.rs:9: function f has 61 lines
        → name its steps

    tidy: 3 rules, 7 files, 4 violations
    ");
}

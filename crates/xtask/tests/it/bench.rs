use crate::fixture::{Fixture, Run};

const MET: &str =
    r#"{"name":"b","value":3,"unit":"ms","reference":2,"ratio":1.5,"goal":{"at_most":2}}"#;
const MISSED: &str =
    r#"{"name":"a","value":9,"unit":"ms","reference":null,"ratio":null,"goal":{"at_most":8}}"#;

fn bench(fixture: &Fixture, arguments: &[&str], figures: &str) -> Run {
    let arguments = [&["bench"], arguments].concat();
    fixture.xtask(&arguments, &[("FIXTURE_FIGURES", figures)])
}

#[test]
fn figures_are_collected_and_a_missed_goal_is_shown() {
    let fixture = Fixture::new();
    let both = format!("{MET}\n{MISSED}\n");
    let run = bench(&fixture, &["storage"], &both);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.errors);
    let (table, place) = run.out.split_once("\n\n").unwrap();
    insta::assert_snapshot!(table, @r"
       figure  value  unit  reference  ratio  goal
    ✗  a        9.00  ms                      ≤ 8
    ✓  b        3.00  ms         2.00   1.50  ≤ 2
    ");
    let summary = fixture.path("target/bench/summary.json");
    assert_eq!(place, format!("figures in {}\n", summary.display()));

    let summary = fixture.read("target/bench/summary.json");
    let names: Vec<serde_json::Value> = serde_json::from_str(&summary).unwrap();
    assert_eq!(names.iter().map(|figure| &figure["name"]).collect::<Vec<_>>(), ["a", "b"]);

    assert_eq!(bench(&fixture, &["--strict", "storage"], &both).code, Some(1));
    assert_eq!(bench(&fixture, &["--strict", "storage"], MET).code, Some(0));
}

#[test]
fn a_bench_that_aborts_or_measures_nothing_fails() {
    let fixture = Fixture::new();
    let silent = bench(&fixture, &["storage"], "");
    assert_eq!(silent.code, Some(1));
    assert!(silent.out.contains("failed: storage: the bench wrote no figure"), "{}", silent.out);

    let crashed = bench(&fixture, &["storage"], "crash");
    assert_eq!(crashed.code, Some(1));
    assert!(crashed.out.contains("failed: storage: the bench ended with"), "{}", crashed.out);
}

#[test]
fn an_unknown_bench_is_refused() {
    let run = bench(&Fixture::new(), &["speed"], MET);
    assert_eq!(run.code, Some(1));
    assert!(run.errors.contains("there is no bench speed"), "{}", run.errors);
}

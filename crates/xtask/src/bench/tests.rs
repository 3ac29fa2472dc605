use super::figure::{self, Goal};
use super::*;

fn figure(name: &str, value: f64) -> Figure {
    Figure {
        name: name.to_owned(),
        value,
        unit: "rows/s".to_owned(),
        reference: None,
        ratio: None,
        goal: None,
    }
}

fn figures() -> Vec<Figure> {
    vec![
        Figure {
            reference: Some(124_000.0),
            ratio: Some(0.7081),
            goal: Some(Goal::AtLeast(0.6)),
            ..figure("storage.group_commit.sqlite", 87_804.4)
        },
        Figure {
            unit: "ms".to_owned(),
            reference: Some(0.19),
            ratio: Some(2.0),
            goal: Some(Goal::AtMost(1.5)),
            ..figure("storage.idle_commit_ms", 0.38)
        },
        figure("storage.rows", 12.34),
    ]
}

#[test]
fn the_table_is_aligned_and_marks_goals() {
    insta::assert_snapshot!(table::render(&figures()), @r"
       figure                       value  unit    reference  ratio  goal
    ✓  storage.group_commit.sqlite  87804  rows/s     124000   0.71  ≥ 0.6
    ✗  storage.idle_commit_ms       0.380  ms          0.190   2.00  ≤ 1.5
    –  storage.rows                  12.3  rows/s
    ");
}

#[test]
fn the_summary_is_sorted_and_keeps_what_was_written() {
    let mut figures = figures();
    figures.reverse();
    figure::sort(&mut figures).unwrap();
    let summary = figure::summary(&figures).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Figure>>(&summary).unwrap(), self::figures());
    insta::assert_snapshot!(summary.lines().take(12).collect::<Vec<_>>().join("\n"), @r#"
    [
      {
        "name": "storage.group_commit.sqlite",
        "value": 87804.4,
        "unit": "rows/s",
        "reference": 124000.0,
        "ratio": 0.7081,
        "goal": {
          "at_least": 0.6
        }
      },
      {
    "#);
}

#[test]
fn a_line_is_a_figure() {
    let line =
        r#"{"name":"a","value":2,"unit":"ms","reference":1.5,"ratio":1.3,"goal":{"at_most":1.2}}"#;
    let plain =
        r#"{"name":"b","value":1.5,"unit":"rows/s","reference":null,"ratio":null,"goal":null}"#;
    let parsed = figure::parse(&format!("{line}\n\n{plain}\n")).unwrap();
    let first = Figure {
        unit: "ms".to_owned(),
        reference: Some(1.5),
        ratio: Some(1.3),
        goal: Some(Goal::AtMost(1.2)),
        ..figure("a", 2.0)
    };
    assert_eq!(parsed, [first, figure("b", 1.5)]);
}

#[test]
fn no_figure_and_broken_figures_are_failures() {
    let error = |lines: &str| figure::parse(lines).unwrap_err().to_string();
    assert_eq!(error("\n"), "the bench wrote no figure");
    assert_eq!(error("{\"name\":\"a\"}"), "not a figure: {\"name\":\"a\"}");
}

#[test]
fn a_figure_is_measured_once() {
    let error = figure::sort(&mut [figure("a", 1.0), figure("b", 1.0), figure("a", 2.0)]);
    assert_eq!(error.unwrap_err().to_string(), "the figure a was measured twice");
}

#[test]
fn a_goal_is_about_the_ratio_where_there_is_one() {
    let judge = |value, ratio, goal| Figure { ratio, goal, ..figure("a", value) }.meets_goal();
    assert_eq!(judge(1.0, None, None), None);
    assert_eq!(judge(1.0, None, Some(Goal::AtLeast(1.0))), Some(true));
    assert_eq!(judge(0.9, None, Some(Goal::AtLeast(1.0))), Some(false));
    assert_eq!(judge(9.0, Some(1.2), Some(Goal::AtMost(1.2))), Some(true));
    assert_eq!(judge(1.0, Some(1.3), Some(Goal::AtMost(1.2))), Some(false));
}

#[test]
fn benches_are_chosen_by_name() {
    assert_eq!(choose(&[]).unwrap().len(), BENCHES.len());
    assert_eq!(choose(&["storage"]).unwrap()[0].package, "palyra-storage");
    let error = choose(&["storage", "speed"]).err().unwrap().to_string();
    assert!(
        error.starts_with(
            "there is no bench speed; there is: daemon, a2ui, acp, outbox, runs, storage"
        ),
        "{error}"
    );
}

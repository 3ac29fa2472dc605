use crate::fixture::Fixture;

fn help(words: &[&str]) -> String {
    let run = Fixture::new().xtask(words, &[]);
    assert_eq!(run.code, Some(0), "{words:?}: {}{}", run.out, run.errors);
    run.out
}

#[test]
fn xtask_and_each_of_its_commands_can_be_asked() {
    let overview = help(&["--help"]);
    for command in ["tidy", "codegen", "bench"] {
        assert!(overview.contains(&format!("\n  {command} ")), "{command}: {overview}");
        let told = help(&[command, "--help"]);
        assert!(told.starts_with(&format!("usage: cargo xtask {command}")), "{told}");
        assert_eq!(help(&[command, "-h"]), told);
        assert_eq!(help(&["help", command]), told);
    }
}

#[test]
fn the_help_of_bench_names_the_benches_and_explains_their_table() {
    insta::assert_snapshot!(help(&["bench", "--strict", "--help"]), @"
    usage: cargo xtask bench [--strict] [NAME…]

    Runs the benches of these names, or all:

      daemon   what the daemon costs to start, to keep and per request, beside a bare axum server
      a2ui     what it costs to look at a message of A2UI, beside reading its JSON
      acp      what a command costs with its commit, beside a raw database
      outbox   what it costs to bring messages in and out, beside a raw database
      runs     what a run costs beside its model, beside a raw database that commits the same rows
      storage  how much of the speed of SQLite and Postgres storage keeps

    `make bench BENCH=storage` does the same as `cargo xtask bench storage`, after it has seen to it that
    the machine has what it needs. The figures are shown as a table and kept in
    target/bench/summary.json.

    Columns of the table:

                 ✓ the goal is met, ✗ it is missed, – there is none
      value      what was measured, in the unit beside it
      reference  the raw thing without us (the bare database or server), measured in the same run, so
                 that the speed of the machine does not matter
      ratio      value to reference, as the median over the turns of the run; hence not always exactly
                 the one number divided by the other
      goal       what the ratio has to be; where there is no ratio, the value

    A bench that fails makes the exit code 1; a goal that is missed does so only with --strict.
    ");
}

#[test]
fn there_is_no_help_for_a_command_that_is_not_there() {
    let run = Fixture::new().xtask(&["speed", "--help"], &[]);
    assert_eq!(run.code, Some(1));
    assert!(run.errors.starts_with("error: unknown arguments: speed --help\n"), "{}", run.errors);
}

//! Figures of benches: measured in turns with their reference, and written down for
//! `cargo xtask bench`.

use std::io::Write;
use std::time::{Duration, Instant};

/// What a figure should be. It is about the ratio where there is one, else about the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// What a bench has measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Of ours.
    pub value: f64,
    /// Of the raw thing that ours is compared with, in the same unit and the same run.
    pub reference: Option<f64>,
    /// How they compare, if the goal is about that.
    pub ratio: Option<f64>,
}

impl Measured {
    /// A value that speaks for itself.
    pub fn alone(value: f64) -> Self {
        Self { value, reference: None, ratio: None }
    }

    /// A value that is judged by itself, with something to hold it against.
    pub fn beside(value: f64, reference: f64) -> Self {
        Self { value, reference: Some(reference), ratio: None }
    }
}

/// Prints a figure, and appends it to the file that `PALYRA_BENCH_OUT` names. A bench that cannot
/// report has failed, so this panics.
#[expect(clippy::print_stdout, reason = "somebody who runs a single bench watches it")]
pub fn report(name: &str, unit: &str, measured: Measured, goal: Option<Goal>) {
    let Measured { value, reference, ratio } = measured;
    let goal = goal.map(|goal| match goal {
        Goal::AtLeast(bound) => serde_json::json!({ "at_least": bound }),
        Goal::AtMost(bound) => serde_json::json!({ "at_most": bound }),
    });
    let figure = serde_json::json!({
        "name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio,
        "goal": goal,
    });
    println!("{figure}");
    if let Some(path) = std::env::var_os("PALYRA_BENCH_OUT") {
        let file = std::fs::File::options().append(true).create(true).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{figure}"));
        written.expect("a bench whose figures are lost has failed");
    }
}

/// Runs both in turns, so that a noisy machine disturbs them alike, and takes the median of each
/// and of their ratios.
pub fn in_turns(
    turns: usize,
    mut subject: impl FnMut() -> f64,
    mut reference: impl FnMut() -> f64,
) -> Measured {
    // The first turn fills caches and is not counted.
    let _ = (subject(), reference());
    let pairs: Vec<(f64, f64)> = (0..turns).map(|_| (subject(), reference())).collect();
    Measured {
        value: median(pairs.iter().map(|pair| pair.0)),
        reference: Some(median(pairs.iter().map(|pair| pair.1))),
        ratio: Some(median(pairs.iter().map(|pair| pair.0 / pair.1))),
    }
}

/// The one in the middle, of at least one.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How many per second, doing `count` of them.
pub fn rate(count: usize, work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    count as f64 / begun.elapsed().as_secs_f64()
}

/// As a figure.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

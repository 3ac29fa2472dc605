//! Measuring in turns, and writing figures down.

use std::io::Write;
use std::time::{Duration, Instant};

pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

/// Appends a figure to the file that `PALYRA_BENCH_OUT` names, and prints it.
pub(crate) fn report(name: &str, unit: &str, measured: Measured, goal: Goal) {
    let Measured { value, reference, ratio } = measured;
    let goal = match goal {
        Goal::AtLeast(bound) => serde_json::json!({ "at_least": bound }),
        Goal::AtMost(bound) => serde_json::json!({ "at_most": bound }),
    };
    let figure = serde_json::json!({
        "name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio,
        "goal": goal,
    });
    println!("{figure}");
    if let Ok(path) = std::env::var("PALYRA_BENCH_OUT") {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{figure}").unwrap();
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) value: f64,
    pub(crate) reference: f64,
    pub(crate) ratio: f64,
}

/// Runs both in turns and takes the median of each and of their ratios.
pub(crate) fn in_turns(
    turns: usize,
    mut subject: impl FnMut() -> f64,
    mut reference: impl FnMut() -> f64,
) -> Measured {
    // The first turn fills caches and is not counted.
    let _ = (subject(), reference());
    let pairs: Vec<(f64, f64)> = (0..turns).map(|_| (subject(), reference())).collect();
    Measured {
        value: median(pairs.iter().map(|pair| pair.0)),
        reference: median(pairs.iter().map(|pair| pair.1)),
        ratio: median(pairs.iter().map(|pair| pair.0 / pair.1)),
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How many per second, doing `count` of them.
pub(crate) fn rate(count: usize, work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    count as f64 / begun.elapsed().as_secs_f64()
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

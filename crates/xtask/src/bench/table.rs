//! Shows figures to a person.

use super::figure::{Figure, Goal};

const HEADINGS: [&str; 7] = ["", "figure", "value", "unit", "reference", "ratio", "goal"];

/// Which columns hold numbers and are aligned to the right.
const NUMERIC: [bool; 7] = [false, false, true, false, true, true, false];

pub(super) fn render(figures: &[Figure]) -> String {
    let rows: Vec<[String; 7]> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(figures.iter().map(row)).collect();
    let widths: [usize; 7] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    rows.iter().map(|row| line(row, &widths) + "\n").collect()
}

fn line(row: &[String; 7], widths: &[usize; 7]) -> String {
    let cells =
        row.iter().zip(widths).zip(NUMERIC).map(|((cell, &width), numeric)| match numeric {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn row(figure: &Figure) -> [String; 7] {
    let mark = match figure.meets_goal() {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "–",
    };
    let goal = match figure.goal {
        Some(Goal::AtLeast(least)) => format!("≥ {least}"),
        Some(Goal::AtMost(most)) => format!("≤ {most}"),
        None => String::new(),
    };
    [
        mark.to_owned(),
        figure.name.clone(),
        number(figure.value),
        figure.unit.clone(),
        figure.reference.map(number).unwrap_or_default(),
        figure.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
        goal,
    ]
}

/// Three digits that mean something; more of a large number.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

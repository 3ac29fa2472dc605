//! Columns for people.

use unicode_width::UnicodeWidthStr;

use crate::output::{Output, Tone, printable};

#[cfg(test)]
mod tests;

const GAP: &str = "  ";

/// Rows under a header, each column as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    pub(crate) fn toned(tone: Tone, text: impl AsRef<str>) -> Self {
        Self { tone: Some(tone), ..Self::from(text.as_ref()) }
    }
}

/// What would command a terminal is taken out here, so no cell can.
impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self { text: printable(text).into_owned(), tone: None }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        let quiet = |title: &str| Cell::toned(Tone::Quiet, title);
        Self { rows: vec![header.into_iter().map(quiet).collect()] }
    }

    /// Names and values, without a header.
    pub(crate) fn of_fields() -> Self {
        Self { rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    pub(crate) fn field(&mut self, name: &str, value: impl Into<Cell>) {
        self.row([Cell::toned(Tone::Quiet, format!("  {name}")), value.into()]);
    }

    pub(crate) fn render(&self, out: &Output) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        self.rows.iter().map(|row| line(row, &widths, out)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], out: &Output) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        match cell.tone {
            Some(tone) => line.push_str(&out.paint(tone, &cell.text)),
            None => line.push_str(&cell.text),
        }
        // Spaces at the end of a line would be copied along.
        if index + 1 < row.len() {
            line.push_str(&" ".repeat(width - cell.text.width()));
            line.push_str(GAP);
        }
    }
    line.push('\n');
    line
}

//! A figure: what was measured, against what, and what it should be.

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: String,
    /// The raw reference, measured in the same run, in the same unit.
    pub(super) reference: Option<f64>,
    /// How the value compares with the reference, as the bench judges it: with several turns, the
    /// median of their ratios, which is not the ratio of the two medians shown beside it.
    pub(super) ratio: Option<f64>,
    pub(super) goal: Option<Goal>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    /// A goal is about the ratio; only where nothing is compared it is about the value.
    pub(super) fn meets_goal(&self) -> Option<bool> {
        let judged = self.ratio.unwrap_or(self.value);
        self.goal.map(|goal| match goal {
            Goal::AtLeast(least) => judged >= least,
            Goal::AtMost(most) => judged <= most,
        })
    }
}

/// Reads what a bench wrote, one figure per line.
pub(super) fn parse(lines: &str) -> Result<Vec<Figure>> {
    let figures = lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a figure: {line}")))
        .collect::<Result<Vec<Figure>>>()?;
    if figures.is_empty() {
        bail!("the bench wrote no figure");
    }
    Ok(figures)
}

/// Sorts by name; a name that occurs twice would make the summary ambiguous.
pub(super) fn sort(figures: &mut [Figure]) -> Result<()> {
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = figures.windows(2).find(|pair| pair[0].name == pair[1].name) {
        bail!("the figure {} was measured twice", pair[0].name);
    }
    Ok(())
}

pub(super) fn summary(figures: &[Figure]) -> Result<String> {
    let mut text = serde_json::to_string_pretty(figures).context("cannot write the figures")?;
    text.push('\n');
    Ok(text)
}

//! Where a conversation is shown.

use std::io::IsTerminal;

use palyra_common::tape::RunFinished;
use rustix::termios::tcgetwinsize;

use super::paper::Paper;
use crate::failure::Outcome;
use crate::output::{Output, Tone, paragraphs};

/// What a terminal is taken for that does not say how large it is.
const USUAL: (u16, u16) = (80, 24);

/// How a conversation is shown.
pub(super) enum View {
    /// To somebody who watches: as it comes.
    Terminal(Paper),
    /// To somebody who reads later: answers to standard output, and all else to standard error.
    Plain,
    /// To a program: it is told at the end.
    Silent,
}

impl View {
    pub(super) fn new(out: &Output) -> Self {
        match (out.is_json(), std::io::stdout().is_terminal()) {
            (true, _) => Self::Silent,
            (false, false) => Self::Plain,
            (false, true) => {
                let size = tcgetwinsize(std::io::stdout());
                let size = size.map_or(USUAL, |size| (size.ws_col, size.ws_row));
                let (columns, rows) = if size.0 == 0 { USUAL } else { size };
                let erases = std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
                Self::Terminal(Paper::new(columns.into(), rows.into(), erases))
            }
        }
    }

    /// Shows what there is of an answer.
    pub(super) fn live(&mut self, out: &Output, text: &str) -> Outcome {
        match self {
            Self::Terminal(paper) => out.print(&paper.live(text)),
            Self::Plain | Self::Silent => Ok(()),
        }
    }

    pub(super) fn settle(&mut self, out: &Output) -> Outcome {
        match self {
            Self::Terminal(paper) => out.print(&paper.settle()),
            Self::Plain | Self::Silent => Ok(()),
        }
    }

    /// Shows a line beside the answer.
    pub(super) fn line(&mut self, out: &Output, tone: Tone, line: &str) -> Outcome {
        self.text(out, &format!("{}\n", out.paint(tone, line)))
    }

    /// Shows a text beside the answer.
    pub(super) fn text(&mut self, out: &Output, text: &str) -> Outcome {
        self.settle(out)?;
        match self {
            Self::Terminal(_) => out.print(&out.complete(text)),
            Self::Plain => {
                out.note(text.trim_end());
                Ok(())
            }
            Self::Silent => Ok(()),
        }
    }

    /// Shows what the agent shows: a part of what it has to say.
    pub(super) fn shown(&mut self, out: &Output, text: &str) -> Outcome {
        self.settle(out)?;
        match self {
            Self::Terminal(_) | Self::Plain if !text.is_empty() => out.print(&paragraphs(text)),
            Self::Terminal(_) | Self::Plain | Self::Silent => Ok(()),
        }
    }

    /// Shows the end: what of the answer was not shown before.
    pub(super) fn end(&mut self, out: &Output, finished: &RunFinished, rest: &str) -> Outcome {
        self.settle(out)?;
        match self {
            Self::Terminal(_) if rest.is_empty() => Ok(()),
            Self::Terminal(_) => out.print(&paragraphs(rest)),
            Self::Plain => out.print(&paragraphs(finished.answer.trim())),
            Self::Silent => Ok(()),
        }
    }
}

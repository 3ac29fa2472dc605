//! Checks, for people.

use palyra_common::api::{Check, CheckState};

use crate::count;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};

pub(crate) fn text(out: &Output, checks: &[Check]) -> String {
    let mut table = Table::of_fields();
    for check in checks {
        let state = Cell::toned(tone(check.state), check.state.as_str());
        table.row([state, check.name.as_str().into(), check.seen.as_str().into()]);
        if let Some(advice) = &check.advice {
            let fixable = if check.fixable { " (or: `palyra doctor --fix`)" } else { "" };
            table.row(["".into(), "".into(), format!("→ {advice}{fixable}").into()]);
        }
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count() as u64;
    let (failed, warnings) = (count(CheckState::Failed), count(CheckState::Warning));
    let warned = count::of(warnings, "warning", "warnings");
    let verdict = match (failed, warnings) {
        (0, 0) => out.paint(Tone::Good, "All is well."),
        (0, _) => out.paint(Tone::Doubtful, &format!("It works, with {warned}.")),
        (_, _) => out.paint(
            Tone::Bad,
            &format!("{} failed, {warned}.", count::of(failed, "check", "checks")),
        ),
    };
    format!("{}\n{verdict}\n", table.render(out))
}

fn tone(state: CheckState) -> Tone {
    match state {
        CheckState::Ok => Tone::Good,
        CheckState::Warning => Tone::Doubtful,
        CheckState::Failed => Tone::Bad,
        CheckState::Skipped => Tone::Quiet,
    }
}

/// A failed check fails the command.
pub(crate) fn outcome(checks: &[Check]) -> Outcome {
    let failed = checks.iter().any(|check| check.state == CheckState::Failed);
    if failed { Err(Failure::Faults) } else { Ok(()) }
}

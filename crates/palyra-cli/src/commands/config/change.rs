//! What a change came to, for people.

use palyra_common::api::ConfigChanged;

use crate::output::{Output, Tone, printable};

/// How a change is told.
pub(super) type Text = fn(&Output, &ConfigChanged) -> String;

/// By a daemon that runs.
pub(super) fn text(out: &Output, changed: &ConfigChanged) -> String {
    told(out, changed, "in force after a restart; run `palyra daemon restart`")
}

/// Where no daemon runs that could take it over.
pub(super) fn text_for_start(out: &Output, changed: &ConfigChanged) -> String {
    told(out, changed, "in force at the next start of the daemon")
}

fn told(out: &Output, changed: &ConfigChanged, later: &str) -> String {
    let mut text = format!("{} is written.\n", printable(&changed.file));
    let mut say = |tone, keys: &[String], what: &str| {
        if !keys.is_empty() {
            let keys = keys.join(", ");
            text.push_str(&out.paint(tone, &format!("  {}: {what}\n", printable(&keys))));
        }
    };
    say(Tone::Good, &changed.applied, "in force now");
    say(Tone::Doubtful, &changed.needs_restart, later);
    say(
        Tone::Doubtful,
        &changed.overridden,
        "the environment or the command line of the daemon says otherwise and wins",
    );
    text
}

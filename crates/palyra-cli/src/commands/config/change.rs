//! What a change came to, for people.

use palyra_common::api::ConfigChanged;

use crate::output::{Output, Tone, printable};

pub(super) fn text(out: &Output, changed: &ConfigChanged) -> String {
    let mut text = format!("{} is written.\n", printable(&changed.file));
    let mut say = |tone, keys: &[String], what: &str| {
        if !keys.is_empty() {
            let keys = keys.join(", ");
            text.push_str(&out.paint(tone, &format!("  {}: {what}\n", printable(&keys))));
        }
    };
    say(Tone::Good, &changed.applied, "in force now");
    say(
        Tone::Doubtful,
        &changed.needs_restart,
        "in force after a restart; run `palyra daemon restart`",
    );
    say(
        Tone::Doubtful,
        &changed.overridden,
        "the environment or the command line of the daemon says otherwise and wins",
    );
    text
}

//! What a change came to, for people.

use palyra_common::api::ConfigChanged;

use serde::Serialize;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, Tone, printable};
use crate::palyrad;
use crate::service::{Unit, Withheld};

/// How a change is told.
pub(super) type Text = fn(&Output, &ConfigChanged) -> String;

/// A change, and what it means for the service.
#[derive(Debug, Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    changed: &'a ConfigChanged,
    /// What the installed unit does not allow, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
}

/// Tells what a change came to, also for the service that is installed here.
pub(super) fn show(context: &Context, changed: &ConfigChanged, text: Text) -> Outcome {
    let service = withheld(context).map(|Withheld { what, remedy }| format!("{what}. {remedy}"));
    context.out().show(&Told { changed, service }, |out, told| {
        let service = told.service.as_ref().map(|service| format!("  {}\n", printable(service)));
        let service = service.map(|service| out.paint(Tone::Doubtful, &service));
        text(out, told.changed) + &service.unwrap_or_default()
    })
}

fn withheld(context: &Context) -> Option<Withheld> {
    let data_dir = context.own_data_dir("this").ok()?;
    let unit = Unit::of(&data_dir).ok().filter(Unit::is_installed)?;
    unit.withholds(&data_dir, &palyrad::outside(context).ok()?)
}

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

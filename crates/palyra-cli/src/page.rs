//! Lists that come in pages.

use palyra_common::api::Page;

use crate::output::printable;

/// Where a list goes on, and how long it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Paging {
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    /// Go on where a page ended: the `next` that --json has shown
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

/// Says how a list goes on, if it does.
pub(crate) fn more<T>(page: &Page<T>) -> String {
    let more = page.next.as_ref().map(|next| format!("More: --after {}\n", printable(next)));
    more.unwrap_or_default()
}

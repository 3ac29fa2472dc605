//! `docs/errors.md` from the registry of error codes.

use std::fmt::Write;

use anyhow::Result;
use palyra_common::ErrorCode;

const INTRODUCTION: &str = "\
<!-- Made by `cargo xtask codegen` from crates/palyra-common/src/error/registry.rs. -->

# Error codes

An error whose cause Palyra knows carries one of these codes; a mistake in the arguments of a command,
or a failure that nobody foresaw, may carry none. A code keeps its meaning from version to version,
so scripts may match on it. *Retry* says whether the same request can succeed later without a change
to it.
";

pub(super) fn render() -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    let mut section = "";
    for code in ErrorCode::ALL {
        let domain = code.as_str().split('/').next().unwrap_or_default();
        if domain != section {
            section = domain;
            write!(page, "\n## {domain}\n\n| code | what it means | what to do | retry |\n")?;
            page.push_str("|---|---|---|---|\n");
        }
        let retry = if code.retryable() { "yes" } else { "no" };
        writeln!(page, "| `{code}` | {} | {} | {retry} |", code.meaning(), code.hint())?;
    }
    Ok(page)
}

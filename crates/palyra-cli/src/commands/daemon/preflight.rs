//! Whether a start can succeed, as palyrad itself finds out.

use std::ffi::{OsStr, OsString};

use palyra_common::ErrorCode;
use palyra_common::api::{Check, CheckState, Doctor};

use super::kept::Variables;
use crate::context::Context;
use crate::failure::Failure;
use crate::palyrad;

/// Why a start would fail.
pub(super) struct Hindrance {
    pub(super) code: ErrorCode,
    pub(super) told: String,
}

/// What hinders a start with these options, if anything does.
pub(super) fn hindrance(
    context: &Context,
    options: &[OsString],
    variables: &Variables,
) -> Result<Option<Hindrance>, Failure> {
    let mut asked: Vec<&OsStr> = options.iter().map(OsString::as_os_str).collect();
    asked.extend(["preflight", "--json"].map(OsStr::new));
    match palyrad::ask_with::<Doctor>(context, &asked, variables) {
        Ok(found) => Ok(found.checks.into_iter().find(hinders).map(told)),
        Err(Failure::Told(told)) => {
            let code = told.known_code().unwrap_or(ErrorCode::ClientPalyradFailed);
            Ok(Some(Hindrance { code, told: told.message().to_owned() }))
        }
        Err(other @ (Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted)) => {
            Err(other)
        }
    }
}

fn told(check: Check) -> Hindrance {
    let Check { name, seen, advice, .. } = check;
    // The hint of a code says what to do already.
    if let Some((what, code)) = with_code(&seen) {
        return Hindrance { code, told: format!("{name}: {what}") };
    }
    let code = match name.as_str() {
        "config" => ErrorCode::ConfigInvalid,
        _ => ErrorCode::ClientPalyradFailed,
    };
    // What was seen may end in a question: did you mean …?
    let stop = if seen.ends_with(['.', '?', '!']) { "" } else { "." };
    let advice = advice.filter(|advice| advice != code.hint());
    let advice = advice.map(|advice| format!("{stop} {advice}")).unwrap_or_default();
    Hindrance { code, told: format!("{name}: {seen}{advice}") }
}

/// What was seen, and the code that palyrad puts after it where an error has one.
fn with_code(seen: &str) -> Option<(&str, ErrorCode)> {
    let (what, code) = seen.strip_suffix(')')?.rsplit_once(" (")?;
    Some((what, code.parse().ok()?))
}

/// Whether a start fails for this; the other checks are about how well it works.
fn hinders(check: &Check) -> bool {
    let decides = ["config", "storage_path", "database", "postgres_version", "blob_place"];
    let decides = decides.contains(&check.name.as_str()) || check.name.starts_with("bind:");
    decides && check.state == CheckState::Failed
}

#[cfg(test)]
mod tests;

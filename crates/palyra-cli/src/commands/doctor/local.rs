//! The checks that need no daemon, and what can be put right.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use palyra_common::api::{Check, CheckState};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::palyrad;
use crate::service::{Unit, Withheld, variables};

/// What others must not be able to read or change, with the permissions that it should have.
struct Private {
    check: &'static str,
    path: PathBuf,
    mode: u32,
}

fn private(data_dir: &Path) -> Vec<Private> {
    let variables = variables::path(data_dir);
    let kept = variables.exists();
    let variables = Private { check: "service_variables_private", path: variables, mode: 0o600 };
    let always = [
        Private { check: "data_directory_private", path: data_dir.to_owned(), mode: 0o700 },
        Private { check: "config_file_private", path: data_dir.join("palyra.toml"), mode: 0o600 },
        Private { check: "log_private", path: data_dir.join("log"), mode: 0o700 },
    ];
    always.into_iter().chain(kept.then_some(variables)).collect()
}

pub(super) fn checks(context: &Context) -> Result<Vec<Check>, Failure> {
    let data_dir = context.data_dir()?;
    let mut checks: Vec<_> = private(&data_dir).iter().map(privacy).collect();
    checks.push(program());
    checks.push(unit(context, &data_dir)?);
    Ok(checks)
}

/// Takes permissions away from others; returns what was put right.
pub(super) fn fix(context: &Context) -> Result<Vec<String>, Failure> {
    if context.is_remote() {
        return Err(Failure::asked("--fix works on the machine of the daemon only"));
    }
    let mut fixed = Vec::new();
    for private in private(&context.data_dir()?) {
        if privacy(&private).fixable {
            restrict(&private)?;
            fixed.push(private.check.to_owned());
        }
    }
    Ok(fixed)
}

fn restrict(private: &Private) -> Outcome {
    let permissions = Permissions::from_mode(private.mode);
    std::fs::set_permissions(&private.path, permissions)
        .map_err(|error| Failure::file(&private.path, error))
}

fn privacy(private: &Private) -> Check {
    let (shown, mut fixable) = (private.path.display(), false);
    let (state, seen, advice) = match std::fs::metadata(&private.path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (CheckState::Skipped, format!("{shown} is not there yet"), None)
        }
        Err(error) => (
            CheckState::Failed,
            format!("{shown}: {error}"),
            Some("Give it back to the user that runs the daemon.".to_owned()),
        ),
        Ok(found) => {
            let mode = found.permissions().mode() & 0o777;
            fixable = mode & 0o077 != 0;
            let seen = format!("{shown} has mode {mode:o}");
            let advice =
                |can: &str| Some(format!("Others can {can}: chmod {:o} {shown}", private.mode));
            match mode {
                _ if !fixable => (CheckState::Ok, seen, None),
                _ if mode & 0o022 == 0 => (CheckState::Warning, seen, advice("look into it")),
                _ => (CheckState::Failed, seen, advice("change it")),
            }
        }
    };
    Check { name: private.check.into(), state, seen, advice, fixable }
}

fn program() -> Check {
    let (state, seen, advice) = match palyrad::find() {
        Ok(path) => (CheckState::Ok, path.display().to_string(), None),
        Err(Failure::Told(told)) => {
            let hint = told.recovery_hint().to_owned();
            (CheckState::Warning, told.message().to_owned(), Some(hint))
        }
        Err(Failure::Faults | Failure::ToldAlready(_) | Failure::Interrupted) => {
            (CheckState::Skipped, "was not looked for".into(), None)
        }
    };
    Check { name: "palyrad".into(), state, seen, advice, fixable: false }
}

fn unit(context: &Context, data_dir: &Path) -> Result<Check, Failure> {
    let unit = Unit::of(data_dir)?;
    let path = unit.path();
    let (state, seen, advice) = match unit.program() {
        None => (CheckState::Skipped, "is not installed as a service".into(), None),
        Some(program) if palyrad::is_program(&program) => match withheld(context, &unit) {
            None if unit.is_enabled() => {
                (CheckState::Ok, format!("{} starts {}", path.display(), program.display()), None)
            }
            None => (
                CheckState::Warning,
                format!("{} is there, and systemd does not start it", path.display()),
                Some("Run `palyra daemon install` again; it says what is in the way.".into()),
            ),
            Some(Withheld { what, remedy }) => (CheckState::Failed, what, Some(remedy.into())),
        },
        Some(program) => (
            CheckState::Failed,
            format!("{} starts {}, which is not there", path.display(), program.display()),
            Some("Run `palyra daemon install` again.".into()),
        ),
    };
    Ok(Check { name: "service".into(), state, seen, advice, fixable: false })
}

/// What is wrong with the configuration itself is told by its own check.
fn withheld(context: &Context, unit: &Unit) -> Option<Withheld> {
    unit.withholds(&context.data_dir().ok()?, &palyrad::outside(context).ok()?)
}

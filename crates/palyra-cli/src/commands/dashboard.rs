//! `palyra dashboard`

mod target;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use palyra_common::api::NewLoginCode;
use target::Target;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::when;

/// Log in to the console with a browser
///
/// Prints a link that works once within a minute, and opens it: a page with a button that logs in and
/// goes on to what was named.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra dashboard
  palyra dashboard --approval 01HZ3V9K8M2QF6T7Y4W5X6A7B8
  palyra dashboard --section channels --connector echo:default
  palyra dashboard --no-open        only print the link
  palyra dashboard --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Only print the link
    #[arg(long)]
    no_open: bool,
    /// How long the page that leads to the link is kept: as long as the link works
    #[arg(long, hide = true, value_name = "SECONDS", default_value = "60")]
    keep_page: u64,
    /// Remove that page then, and do nothing else
    #[arg(long, hide = true, value_name = "FILE")]
    forget: Option<PathBuf>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    if let Some(page) = &arguments.forget {
        return forget(page, Duration::from_secs(arguments.keep_page)).await;
    }
    let new = NewLoginCode { principal: None, handoff: arguments.target.handoff() };
    let code = context.client()?.login_code(&new).await?;
    let (out, link) = (context.out(), code.link.as_deref().unwrap_or_default());
    out.show(&code, |_, _| format!("{link}\n"))?;
    if out.is_json() || arguments.no_open {
        return Ok(());
    }
    match open(link, arguments.keep_page) {
        Ok(true) => out.note("Opening it in a browser; if none comes up, open the link yourself."),
        Ok(false) => out.note("Open it in a browser and log in within a minute; it works once."),
        Err(why) => out.note(&format!("Open it in a browser yourself: {why}")),
    }
    Ok(())
}

/// Opens `link`, if there is somewhere to open it.
///
/// The browser is given a file that leads on to the link: arguments can be read by every process of
/// the machine, and the link logs in whoever is first.
fn open(link: &str, keep_page: u64) -> Result<bool, String> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_display && !cfg!(target_os = "macos") {
        return Ok(false);
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
    let name = format!("palyra-login-{}-{}.html", std::process::id(), when::stamp(when::now()));
    let page = folder.join(name);
    let made = files::create_private(&page, leading_to(link).as_bytes());
    made.map_err(|_| format!("{} could not be written", page.display()))?;
    if let Err(error) = forget_later(&page, keep_page) {
        // Whoever fails to remove it later removes it now.
        let _ = std::fs::remove_file(&page);
        return Err(format!("{} could not be removed later: {error}", page.display()));
    }
    let mut command = Command::new(opener);
    command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(|_| true).map_err(|error| format!("{opener}: {error}"))
}

/// Leaves a process behind that removes the page: nobody says when the browser has read it, and
/// nobody wants to wait here for it.
fn forget_later(page: &Path, keep_page: u64) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["dashboard", "--keep-page", &keep_page.to_string(), "--forget"]).arg(page);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

async fn forget(page: &Path, after: Duration) -> Outcome {
    // The terminal may be closed meanwhile.
    rustix::process::setsid()
        .map_err(|error| Failure::machine(format!("no session of its own: {error}")))?;
    tokio::time::sleep(after).await;
    std::fs::remove_file(page).map_err(|error| Failure::file(page, error))
}

fn leading_to(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">Log in</a>\n"
    )
}

//! `palyra dashboard`

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::context::Context;
use crate::failure::Outcome;
use crate::files;
use crate::when;

/// Log in to the console with a browser
///
/// Prints a link that works once within a minute, and opens it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra dashboard
  palyra dashboard --no-open        only print the link
  palyra dashboard --json"
)]
pub(crate) struct Arguments {
    /// Only print the link
    #[arg(long)]
    no_open: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let code = context.client()?.login_code().await?;
    let out = context.out();
    out.show(&code, |_, code| format!("{}\n", code.link))?;
    if out.is_json() || arguments.no_open {
        return Ok(());
    }
    match open(&code.link) {
        Ok(true) => out.note("Opening it in a browser; if none comes up, open the link yourself."),
        Ok(false) => out.note("Open it in a browser within a minute; it works once."),
        Err(why) => out.note(&format!("Open it in a browser yourself: {why}")),
    }
    Ok(())
}

/// Opens `link`, if there is somewhere to open it.
///
/// The browser is given a file that leads on to the link: arguments can be read by every process of
/// the machine, and the link logs in whoever is first.
fn open(link: &str) -> Result<bool, String> {
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
    let mut command = Command::new(opener);
    command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(|_| true).map_err(|error| format!("{opener}: {error}"))
}

fn leading_to(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">Log in</a>\n"
    )
}

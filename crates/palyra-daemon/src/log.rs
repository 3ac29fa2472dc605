//! What is logged.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::failure::Failure;

/// Logs to standard error what `directives` ask for.
pub(crate) fn start(directives: &str) -> Result<(), Failure> {
    let filter = filter(directives)?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    Ok(())
}

fn filter(directives: &str) -> Result<EnvFilter, Failure> {
    let mut filter = EnvFilter::default();
    for directive in directives.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let refuse = |what: String| Failure::Log { directive: directive.into(), what };
        // A word alone would be taken for a module, and a mistyped level would silence all others.
        if !directive.contains('=') && directive.parse::<LevelFilter>().is_err() {
            return Err(refuse("not a level; for a module, write MODULE=LEVEL".into()));
        }
        let parsed = directive.parse();
        filter =
            filter.add_directive(parsed.map_err(
                |error: tracing_subscriber::filter::ParseError| refuse(error.to_string()),
            )?);
    }
    Ok(filter)
}

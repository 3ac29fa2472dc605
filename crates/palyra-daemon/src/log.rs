//! What is logged. Secrets that the vault knows are taken out of every line.

mod own_file;

use std::path::Path;

use palyra_vault::{RedactingWriter, Redactor};
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::config::{LogConfig, LogFormat};
use crate::failure::Failure;
use own_file::{OwnFile, Written};

/// Changes what is logged while the daemon runs.
#[derive(Debug, Clone)]
pub(crate) struct LogHandle(reload::Handle<EnvFilter, Registry>);

impl LogHandle {
    pub(crate) fn set_level(&self, directives: &str) -> Result<(), Failure> {
        // It fails only when logging has ended, with the process.
        let _ = self.0.reload(filter(directives)?);
        Ok(())
    }

    /// Of a log that nobody writes to: there is one per process, and several daemons in the process
    /// of a test.
    #[cfg(test)]
    pub(crate) fn unused() -> Self {
        let (_, handle) = reload::Layer::new(EnvFilter::default());
        Self(handle)
    }
}

/// Logs to standard error from now on.
pub(crate) fn start(
    config: &LogConfig,
    redactor: Redactor,
    data_dir: &Path,
) -> Result<LogHandle, Failure> {
    let (filter, handle) = reload::Layer::new(filter(&config.level)?);
    let writer = RedactedStderr { redactor, own: OwnFile::of_stderr(data_dir) };
    // Telling of a log that cannot be written would panic where standard error is closed.
    let lines = match config.format {
        LogFormat::Pretty => fmt::layer().log_internal_errors(false).with_writer(writer).boxed(),
        LogFormat::Json => {
            fmt::layer().json().log_internal_errors(false).with_writer(writer).boxed()
        }
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(LogHandle(handle))
}

/// Standard error, without secrets.
struct RedactedStderr {
    redactor: Redactor,
    /// The file that it goes to, if that is ours.
    own: Option<OwnFile>,
}

impl<'a> MakeWriter<'a> for RedactedStderr {
    type Writer = RedactingWriter<Written<'a>>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactingWriter::new(self.redactor.clone(), Written(self.own.as_ref()))
    }
}

/// Reads directives, and refuses what would silently log nothing.
pub(crate) fn filter(directives: &str) -> Result<EnvFilter, Failure> {
    let mut filter = EnvFilter::default();
    if !directives.split(',').any(|part| part.trim().parse::<LevelFilter>().is_ok()) {
        // A module alone would silence all the others.
        filter = filter.add_directive(LevelFilter::INFO.into());
    }
    for directive in directives.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let refuse = |what: String| Failure::Option { what: format!("log.level: {what}") };
        // A word alone would be taken for a module, and a mistyped level would silence all others.
        if !directive.contains('=') && directive.parse::<LevelFilter>().is_err() {
            let what = format!("{directive:?} is not a level; for a module, write MODULE=LEVEL");
            return Err(refuse(what));
        }
        let parsed = directive.parse();
        filter = filter.add_directive(
            parsed.map_err(|error: ParseError| refuse(format!("{directive:?}: {error}")))?,
        );
    }
    Ok(filter)
}

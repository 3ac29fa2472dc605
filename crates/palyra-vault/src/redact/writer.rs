//! A writer for logs.

use std::io::{Result, Write};

use super::Redactor;

/// Writes texts without their secrets. What is given to one call is one text: a log line whole, as
/// `tracing-subscriber` writes it, so that a value is never parted by two calls.
pub struct RedactingWriter<W> {
    redactor: Redactor,
    to: W,
}

impl<W: Write> RedactingWriter<W> {
    /// Writes to `to` what `redactor` leaves.
    pub fn new(redactor: Redactor, to: W) -> Self {
        Self { redactor, to }
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.to.write_all(self.redactor.redact(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

//! Reads the body of an answer, up to a limit that holds for what is sent and for what it unpacks
//! to.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use crate::error::NetError;
use crate::failure;

#[cfg(test)]
mod tests;

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
}

impl Coding {
    /// What an answer says of itself. Anything but gzip was not asked for, and gzip inside of gzip
    /// is how bombs are made; `None` for those.
    pub(crate) fn of(answer: &Response) -> Option<Self> {
        let mut coding = Self::Plain;
        for value in answer.headers().get_all(CONTENT_ENCODING) {
            let told = value.to_str().ok()?.split(',').map(str::trim);
            for word in told.filter(|word| !word.is_empty()) {
                coding = match (coding, word.to_ascii_lowercase().as_str()) {
                    (coding, "identity") => coding,
                    (Self::Plain, "gzip" | "x-gzip") => Self::Gzip,
                    (Self::Plain | Self::Gzip, _) => return None,
                };
            }
        }
        Some(coding)
    }
}

/// Reads all of the body of `answer`, which came from `at`.
pub(crate) async fn read(
    answer: &mut Response,
    coding: Coding,
    limit: u64,
    at: &str,
) -> Result<Bytes, NetError> {
    let too_large = || {
        let what = format!("a body of more than {limit} bytes");
        NetError::TooLarge { at: at.to_owned(), what }
    };
    if answer.content_length().is_some_and(|announced| announced > limit) {
        return Err(too_large());
    }
    let mut sink = Sink::new(coding, limit);
    loop {
        match answer.chunk().await {
            Ok(Some(piece)) => sink.take(&piece).map_err(|full| full.told(too_large, at))?,
            Ok(None) => return sink.finish().map_err(|full| full.told(too_large, at)),
            Err(error) => {
                let what = failure::root(&error);
                return Err(NetError::BrokeOff { at: at.to_owned(), what });
            }
        }
    }
}

/// Why a sink takes no more.
#[derive(Debug, PartialEq, Eq)]
enum Full {
    OverLimit,
    Damaged(String),
}

impl Full {
    fn told(self, too_large: impl Fn() -> NetError, at: &str) -> NetError {
        match self {
            Self::OverLimit => too_large(),
            Self::Damaged(what) => NetError::BadAnswer { at: at.to_owned(), what },
        }
    }
}

/// Where the pieces of a body go.
struct Sink {
    taken: u64,
    limit: u64,
    unpacking: Unpacking,
}

enum Unpacking {
    No(Limited),
    Gzip(MultiGzDecoder<Limited>),
}

impl Sink {
    fn new(coding: Coding, limit: u64) -> Self {
        let out = Limited { bytes: Vec::new(), limit, is_over: false };
        let unpacking = match coding {
            Coding::Plain => Unpacking::No(out),
            Coding::Gzip => Unpacking::Gzip(MultiGzDecoder::new(out)),
        };
        Self { taken: 0, limit, unpacking }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Full> {
        self.taken = self.taken.saturating_add(piece.len() as u64);
        if self.taken > self.limit {
            return Err(Full::OverLimit);
        }
        let written = match &mut self.unpacking {
            Unpacking::No(out) => out.write_all(piece),
            Unpacking::Gzip(decoder) => decoder.write_all(piece),
        };
        written.map_err(|error| self.told(&error))
    }

    fn finish(mut self) -> Result<Bytes, Full> {
        let finished = match &mut self.unpacking {
            // An answer to HEAD, and one without content, says how it would be packed.
            Unpacking::Gzip(_) if self.taken == 0 => return Ok(Bytes::new()),
            Unpacking::Gzip(decoder) => decoder.try_finish(),
            Unpacking::No(_) => Ok(()),
        };
        finished.map_err(|error| self.told(&error))?;
        Ok(match self.unpacking {
            Unpacking::No(out) => out.bytes,
            Unpacking::Gzip(mut decoder) => std::mem::take(&mut decoder.get_mut().bytes),
        }
        .into())
    }

    fn told(&self, error: &io::Error) -> Full {
        let out = match &self.unpacking {
            Unpacking::No(out) => out,
            Unpacking::Gzip(decoder) => decoder.get_ref(),
        };
        if out.is_over {
            Full::OverLimit
        } else {
            Full::Damaged(format!("its gzip is damaged: {error}"))
        }
    }
}

/// Takes bytes up to a limit.
struct Limited {
    bytes: Vec<u8>,
    limit: u64,
    is_over: bool,
}

impl Write for Limited {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len() as u64);
        if piece.len() as u64 > room || self.is_over {
            self.is_over = true;
            return Err(io::Error::other("more than the limit"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

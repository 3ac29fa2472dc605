//! The seal: the end of the file, which holds the digest of everything before it.
//!
//! It is a gzip member of its own without content, whose comment holds the digest, so that any
//! program that reads gzip passes over it. Without it some bits of a file could change unnoticed:
//! deflate pads to whole bytes, and nothing checks the header of a gzip member.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use super::BackupError;
use super::format::hex;

/// A member with a comment (flag 16), no time, and an unknown system.
const BEGIN: &[u8] = &[0x1f, 0x8b, 8, 16, 0, 0, 0, 0, 0, 255];
const COMMENT: &[u8] = b"palyra sha256 ";
/// The end of the comment, an empty last block, and the check sum and length of nothing.
const END: &[u8] = &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const LENGTH: usize = BEGIN.len() + COMMENT.len() + 64 + END.len();

fn seal(digest: Sha256) -> Vec<u8> {
    [BEGIN, COMMENT, hex(digest).as_bytes(), END].concat()
}

/// Writes, and seals at the end.
pub(super) struct SealingWriter<W> {
    out: W,
    digest: Sha256,
    pub(super) bytes: u64,
}

impl<W: Write> SealingWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, digest: Sha256::new(), bytes: 0 }
    }

    /// Returns what was written to, and how many bytes were.
    pub(super) fn seal(mut self) -> io::Result<(W, u64)> {
        self.out.write_all(&seal(self.digest))?;
        self.out.flush()?;
        Ok((self.out, self.bytes + LENGTH as u64))
    }
}

impl<W: Write> Write for SealingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads what is before the seal.
pub(super) struct SealedReader<R> {
    input: R,
    digest: Sha256,
    /// What may be the seal: the last bytes so far.
    held: VecDeque<u8>,
    ended: bool,
}

impl<R: Read> SealedReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, digest: Sha256::new(), held: VecDeque::new(), ended: false }
    }

    /// Reads to the end and checks the seal.
    pub(super) fn check(mut self) -> Result<(), BackupError> {
        let rest = io::copy(&mut self, &mut io::sink()).map_err(BackupError::reading)?;
        if rest > 0 {
            return Err(BackupError::invalid("something follows its end"));
        }
        if self.held != seal(self.digest) {
            return Err(BackupError::invalid("it is damaged or cut off: its seal does not fit"));
        }
        Ok(())
    }
}

impl<R: Read> Read for SealedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut chunk = [0u8; 8192];
        while !self.ended && self.held.len() < LENGTH + into.len().min(chunk.len()) {
            match self.input.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(read) => self.held.extend(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let ready = self.held.len().saturating_sub(LENGTH).min(into.len());
        for (place, byte) in into.iter_mut().zip(self.held.drain(..ready)) {
            *place = byte;
        }
        self.digest.update(&into[..ready]);
        Ok(ready)
    }
}

#[cfg(test)]
mod tests;

//! As much of the Postgres protocol as it takes to see a COMMIT go by.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read};

/// The server refuses start-up packets that are longer.
const LONGEST_STARTUP: usize = 10_000;
/// Nothing that a test sends or reads comes near.
const LONGEST_FRAME: usize = 1 << 30;

/// What a client opens a connection with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// A session, or the cancellation of another session's statement.
    Session,
    /// A question whether the server encrypts; another opening follows the answer.
    Encryption,
}

/// Reads the untyped first packet into `raw` and says what it asks for.
pub(super) fn read_opening(source: &mut impl Read, raw: &mut Vec<u8>) -> io::Result<Opening> {
    const TLS: u32 = 80_877_103;
    const GSS: u32 = 80_877_104;

    raw.resize(8, 0);
    source.read_exact(raw)?;
    let length = number_at(raw, 0) as usize;
    if !(8..=LONGEST_STARTUP).contains(&length) {
        return Err(ErrorKind::InvalidData.into());
    }
    raw.resize(length, 0);
    source.read_exact(&mut raw[8..])?;
    Ok(match number_at(raw, 4) {
        TLS | GSS => Opening::Encryption,
        _ => Opening::Session,
    })
}

/// Reads a typed packet into `raw`: type byte, length, body. False at the end of the stream.
pub(super) fn read_frame(source: &mut impl Read, raw: &mut Vec<u8>) -> io::Result<bool> {
    raw.resize(1, 0);
    if source.read(raw)? == 0 {
        return Ok(false);
    }
    raw.resize(5, 0);
    source.read_exact(&mut raw[1..])?;
    let length = number_at(raw, 1) as usize;
    if !(4..=LONGEST_FRAME).contains(&length) {
        return Err(ErrorKind::InvalidData.into());
    }
    raw.resize(1 + length, 0);
    source.read_exact(&mut raw[5..])?;
    Ok(true)
}

fn number_at(raw: &[u8], at: usize) -> u32 {
    raw[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Whether the server answers this packet of a client with one `ReadyForQuery`: query, function
/// call, sync.
pub(super) fn asks_for_ready(frame: &[u8]) -> bool {
    matches!(frame[0], b'Q' | b'F' | b'S')
}

/// Whether this packet of a server is a `ReadyForQuery`.
pub(super) fn is_ready(frame: &[u8]) -> bool {
    frame[0] == b'Z'
}

/// Follows the packets of one client.
#[derive(Debug, Default)]
pub(super) struct CommitWatch {
    statements: HashSet<Vec<u8>>,
    portals: HashSet<Vec<u8>>,
}

impl CommitWatch {
    /// Whether this packet runs a COMMIT.
    pub(super) fn runs_commit(&mut self, frame: &[u8]) -> bool {
        let body = &frame[5..];
        match frame[0] {
            b'Q' => return is_commit(body),
            b'P' => {
                let (name, sql) = split_string(body);
                mark(&mut self.statements, name, is_commit(sql));
            }
            b'B' => {
                let (portal, rest) = split_string(body);
                let commit = self.statements.contains(split_string(rest).0);
                mark(&mut self.portals, portal, commit);
            }
            b'E' => return self.portals.contains(split_string(body).0),
            b'C' if body.first() == Some(&b'S') => {
                mark(&mut self.statements, split_string(&body[1..]).0, false);
            }
            b'C' if body.first() == Some(&b'P') => {
                mark(&mut self.portals, split_string(&body[1..]).0, false);
            }
            _ => {}
        }
        false
    }
}

fn mark(names: &mut HashSet<Vec<u8>>, name: &[u8], commit: bool) {
    if commit {
        names.insert(name.to_vec());
    } else {
        names.remove(name);
    }
}

/// A zero-terminated string and what comes after it.
fn split_string(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn is_commit(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    let word = sql.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    sql[..word.count()].eq_ignore_ascii_case(b"commit")
}

#[cfg(test)]
mod tests;

//! One client's connection.

use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::frames::{CommitWatch, Opening, asks_for_ready, is_ready, read_frame, read_opening};
use super::plan::{CutKind, Decider};

/// Packets are passed on together up to this size.
const BATCH: usize = 64 << 10;
const NEVER: u64 = u64::MAX;
/// How late a late COMMIT is.
const LATE: Duration = Duration::from_millis(200);

/// The two ends of a connection.
#[derive(Debug)]
pub(super) struct Link {
    client: UnixStream,
    server: UnixStream,
    /// The request whose answer is swallowed and followed by the cut. Requests are numbered by the
    /// `ReadyForQuery` that ends the answer to each; the start-up is number 0.
    doomed: AtomicU64,
    /// The client has been let go; its COMMIT is yet to be passed on.
    late: AtomicBool,
}

impl Link {
    pub(super) fn new(client: UnixStream, server: UnixStream) -> Self {
        let (doomed, late) = (AtomicU64::new(NEVER), AtomicBool::new(false));
        Self { client, server, doomed, late }
    }

    /// Passes packets both ways until either end closes or the connection is cut.
    pub(super) fn run(&self, decider: &Decider, second: thread::Builder) {
        thread::scope(|scope| {
            let answers = second.spawn_scoped(scope, || {
                // However this direction ends, so does the connection.
                let _ = self.pass_answers(decider);
                if self.late.load(Ordering::SeqCst) {
                    // Answers find nobody, but only the server's end says that it has done it all.
                    let _ = io::copy(&mut &self.server, &mut io::sink());
                }
                self.cut();
            });
            if answers.is_err() {
                return self.cut();
            }
            match self.pass_requests(decider) {
                Ok(Passed::Awaiting) => {}
                Ok(Passed::Ended) | Err(_) => self.cut(),
            }
        });
        if self.late.load(Ordering::SeqCst) {
            decider.late_ended();
        }
    }

    /// Ends both sides at once, and with them both directions.
    pub(super) fn cut(&self) {
        // It fails when the other end has closed, which is as good.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn pass_requests(&self, decider: &Decider) -> io::Result<Passed> {
        let mut source = BufReader::new(&self.client);
        let mut raw = Vec::new();
        self.open(&mut source, &mut raw)?;
        let mut watch = CommitWatch::default();
        let mut requests = 1;
        let mut batch = Vec::new();
        while read_frame(&mut source, &mut raw)? {
            if self.doomed.load(Ordering::SeqCst) == NEVER && watch.runs_commit(&raw) {
                match decider.commit() {
                    None => {}
                    Some(CutKind::BeforeForward) => {
                        (&self.server).write_all(&batch)?;
                        decider.cut(CutKind::BeforeForward);
                        return Ok(Passed::Ended);
                    }
                    Some(CutKind::AfterForward) => self.doomed.store(requests, Ordering::SeqCst),
                    Some(CutKind::LateForward) => {
                        batch.extend_from_slice(&raw);
                        decider.cut(CutKind::LateForward);
                        return self.forward_late(&batch);
                    }
                }
            }
            batch.extend_from_slice(&raw);
            requests += u64::from(asks_for_ready(&raw));
            let doomed = self.doomed.load(Ordering::SeqCst) < requests;
            if doomed || source.buffer().is_empty() || batch.len() >= BATCH {
                (&self.server).write_all(&batch)?;
                batch.clear();
            }
            if doomed {
                return Ok(Passed::Awaiting);
            }
        }
        Ok(Passed::Ended)
    }

    /// Lets the client go and passes on what it sent when it has had time to ask elsewhere. The
    /// server does that and then finds the end of the connection.
    fn forward_late(&self, batch: &[u8]) -> io::Result<Passed> {
        self.late.store(true, Ordering::SeqCst);
        self.client.shutdown(Shutdown::Both)?;
        thread::sleep(LATE);
        (&self.server).write_all(batch)?;
        self.server.shutdown(Shutdown::Write)?;
        Ok(Passed::Awaiting)
    }

    /// Passes the start of a session on, or a cancellation, after which the server closes.
    fn open(&self, source: &mut BufReader<&UnixStream>, raw: &mut Vec<u8>) -> io::Result<()> {
        while read_opening(source, raw)? == Opening::Encryption {
            // A server on a Unix socket would say the same.
            (&self.client).write_all(b"N")?;
        }
        (&self.server).write_all(raw)
    }

    fn pass_answers(&self, decider: &Decider) -> io::Result<()> {
        let mut source = BufReader::new(&self.server);
        let mut raw = Vec::new();
        let mut batch = Vec::new();
        let mut answered = 0;
        while read_frame(&mut source, &mut raw)? {
            let swallowed = answered == self.doomed.load(Ordering::SeqCst);
            answered += u64::from(is_ready(&raw));
            if !swallowed {
                batch.extend_from_slice(&raw);
            }
            if swallowed || source.buffer().is_empty() || batch.len() >= BATCH {
                (&self.client).write_all(&batch)?;
                batch.clear();
            }
            if swallowed && is_ready(&raw) {
                decider.cut(CutKind::AfterForward);
                return Ok(());
            }
        }
        Ok(())
    }
}

/// How the direction from client to server ended.
enum Passed {
    /// The client has closed, or its connection is to be cut at once.
    Ended,
    /// The server is to do what it was sent first; the other direction then cuts.
    Awaiting,
}

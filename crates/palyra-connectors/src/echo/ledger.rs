//! What has reached echo. As a file it is outside of the daemon, as any platform is: what was
//! written to it stays when the daemon dies.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use palyra_common::ids::{ConversationId, EnvelopeId, NativeMessageId};
use palyra_common::time::Timestamp;
use palyra_connector_core::{EntryKey, Operation, Stored};
use serde::{Deserialize, Serialize};

/// As many as are kept where there is no file.
const KEPT_IN_MEMORY: usize = 1_024;

/// One message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The name that echo gave it.
    pub native: NativeMessageId,
    /// The message.
    pub envelope: EnvelopeId,
    /// Which part of it.
    pub part: u32,
    /// Where to.
    pub conversation: ConversationId,
    /// What was to be done.
    pub operation: Operation,
    /// When it arrived.
    pub at: Timestamp,
}

pub(super) struct Ledger {
    file: Option<File>,
    known: HashMap<(EnvelopeId, u32), NativeMessageId>,
    /// In the order of arrival, where there is no file.
    order: VecDeque<(EnvelopeId, u32)>,
    arrived: u64,
}

impl Ledger {
    /// Opens a ledger, with what is in it.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let (mut known, mut arrived) = (HashMap::new(), 0);
        let file =
            path.map(|path| OpenOptions::new().create(true).append(true).read(true).open(path));
        let file = file.transpose()?;
        if let Some(file) = &file {
            for line in BufReader::new(file).lines() {
                arrived += 1;
                // A line that was cut off in the middle never arrived.
                if let Ok(line) = serde_json::from_str::<Line>(&line?) {
                    known.insert((line.envelope, line.part), line.native);
                }
            }
        }
        Ok(Self { file, known, order: VecDeque::new(), arrived })
    }

    /// The name of a message that has arrived.
    pub(super) fn find(&self, key: &EntryKey) -> Option<NativeMessageId> {
        self.known.get(&(key.envelope.clone(), key.part)).cloned()
    }

    /// Writes a message down, in one go.
    pub(super) fn append(&mut self, stored: &Stored, at: Timestamp) -> io::Result<NativeMessageId> {
        self.arrived += 1;
        let native = format!("echo-{}", self.arrived).parse::<NativeMessageId>();
        let native = native.map_err(io::Error::other)?;
        let line = Line {
            native: native.clone(),
            envelope: stored.key.envelope.clone(),
            part: stored.key.part,
            conversation: stored.conversation.clone(),
            operation: stored.operation.clone(),
            at,
        };
        let key = (line.envelope.clone(), line.part);
        match &mut self.file {
            Some(file) => {
                let mut bytes = serde_json::to_vec(&line)?;
                bytes.push(b'\n');
                file.write_all(&bytes)?;
            }
            None => {
                self.order.push_back(key.clone());
                if self.order.len() > KEPT_IN_MEMORY
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.known.remove(&oldest);
                }
            }
        }
        self.known.insert(key, native.clone());
        Ok(native)
    }
}

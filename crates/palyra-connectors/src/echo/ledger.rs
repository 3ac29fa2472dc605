//! What has reached echo. As a file it is outside of the daemon, as any platform is: what was
//! written to it stays when the daemon dies.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, EventId, NativeMessageId};
use palyra_common::time::Timestamp;
use palyra_connector_core::{AuthorKind, EntryKey, OnPlatform, Operation, Reading, Stored};
use palyra_storage::new_id;
use serde::{Deserialize, Serialize};

/// As many as are kept where there is no file.
const KEPT_IN_MEMORY: usize = 1_024;

/// Who says what is said through echo.
const SENDER: &str = "palyra";

/// One message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The name that echo gave it.
    pub native: NativeMessageId,
    /// Through which connector; nothing: through whichever asks, as lines once were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connector: Option<ConnectorId>,
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

/// That somebody is about to say something, as it has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typing {
    /// Where.
    pub typing: ConversationId,
    /// When it arrived.
    pub at: Timestamp,
}

/// A message that is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remembered {
    pub(super) native: NativeMessageId,
    pub(super) at: Timestamp,
}

pub(super) struct Ledger {
    /// By the key of an entry, the last that arrived.
    known: HashMap<Key, Remembered>,
    kept: Kept,
}

/// Several connectors may have one file, and messages of the same name.
type Key = (Option<ConnectorId>, EnvelopeId, u32);

enum Kept {
    InFile(File),
    /// In the order of arrival, as many as there is room for: all since a moment.
    InMemory {
        lines: VecDeque<Line>,
        since: Timestamp,
    },
}

impl Ledger {
    /// One that lasts as long as this value, and knows nothing of what came before.
    pub(super) fn in_memory(now: Timestamp) -> Self {
        let kept = Kept::InMemory { lines: VecDeque::new(), since: now };
        Self { known: HashMap::new(), kept }
    }

    /// Opens a ledger in a file, with what is in it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
        end_last_line(&mut file)?;
        let mut known = HashMap::new();
        for line in lines(&mut file)? {
            let line = line?;
            let remembered = Remembered { native: line.native, at: line.at };
            known.insert((line.connector, line.envelope, line.part), remembered);
        }
        Ok(Self { known, kept: Kept::InFile(file) })
    }

    /// A message that has arrived, the last time.
    pub(super) fn find(&self, key: &EntryKey) -> Option<&Remembered> {
        let mut known = (Some(key.connector.clone()), key.envelope.clone(), key.part);
        let found = self.known.get(&known);
        known.0 = None;
        found.or_else(|| self.known.get(&known))
    }

    /// Whether everything is known that has arrived from `at` on.
    pub(super) fn goes_back_to(&self, at: Timestamp) -> bool {
        match &self.kept {
            Kept::InFile(_) => true,
            Kept::InMemory { since, .. } => at >= *since,
        }
    }

    /// Writes a message down, in one go.
    pub(super) fn append(&mut self, stored: &Stored, at: Timestamp) -> io::Result<NativeMessageId> {
        // Another name than any that was given before, also by a ledger that is gone.
        let native = format!("echo-{}", new_id::<EventId>()).parse::<NativeMessageId>();
        let native = native.map_err(io::Error::other)?;
        let line = Line {
            native: native.clone(),
            connector: Some(stored.key.connector.clone()),
            envelope: stored.key.envelope.clone(),
            part: stored.key.part,
            conversation: stored.conversation.clone(),
            operation: stored.operation.clone(),
            at,
        };
        let key = (line.connector.clone(), line.envelope.clone(), line.part);
        match &mut self.kept {
            Kept::InFile(file) => write_line(file, &line)?,
            Kept::InMemory { lines, since } => {
                lines.push_back(line);
                if lines.len() > KEPT_IN_MEMORY
                    && let Some(oldest) = lines.pop_front()
                {
                    *since = (*since).max(oldest.at);
                    let key = (oldest.connector, oldest.envelope, oldest.part);
                    if self.known.get(&key).is_some_and(|known| known.native == oldest.native) {
                        self.known.remove(&key);
                    }
                }
            }
        }
        self.known.insert(key, Remembered { native: native.clone(), at });
        Ok(native)
    }

    /// Writes down that somebody is about to say something. Nothing shows it where there is no file.
    pub(super) fn typing(
        &mut self,
        conversation: &ConversationId,
        at: Timestamp,
    ) -> io::Result<()> {
        match &mut self.kept {
            Kept::InFile(file) => write_line(file, &Typing { typing: conversation.clone(), at }),
            Kept::InMemory { .. } => Ok(()),
        }
    }

    /// What was said, as it is by now, the newest first.
    pub(super) fn read(&mut self, wanted: &Reading) -> io::Result<Vec<OnPlatform>> {
        let mut said = Vec::new();
        match &mut self.kept {
            Kept::InFile(file) => {
                for line in lines(file)? {
                    say(&mut said, line?, wanted);
                }
            }
            Kept::InMemory { lines, .. } => {
                lines.iter().for_each(|line| say(&mut said, line.clone(), wanted));
            }
        }
        let end = wanted
            .before
            .as_ref()
            .and_then(|before| said.iter().position(|message| message.message == *before));
        said.truncate(end.unwrap_or(said.len()));
        let asked = wanted.containing.as_ref().map(|text| text.to_lowercase());
        said.retain(|message| {
            asked.as_ref().is_none_or(|asked| message.text.to_lowercase().contains(asked))
        });
        said.reverse();
        said.truncate(usize::try_from(wanted.limit).unwrap_or(usize::MAX));
        Ok(said)
    }
}

/// What one line makes of a conversation.
fn say(said: &mut Vec<OnPlatform>, line: Line, wanted: &Reading) {
    if line.conversation != wanted.conversation {
        return;
    }
    match line.operation {
        Operation::Send { text, .. } => said.push(OnPlatform {
            message: line.native,
            sender: SENDER.to_owned(),
            author: AuthorKind::Own,
            at: line.at,
            text: text.as_str().to_owned(),
        }),
        Operation::Edit { message, text } => {
            let edited = said.iter_mut().filter(|said| said.message == message);
            edited.for_each(|said| said.text = text.as_str().to_owned());
        }
        Operation::Delete { message } => said.retain(|said| said.message != message),
        Operation::React { .. } | Operation::Unreact { .. } => {}
    }
}

/// What has arrived, in order. A line that was cut off in the middle has not, and one that says
/// something else is passed over.
fn lines(file: &mut File) -> io::Result<impl Iterator<Item = io::Result<Line>>> {
    file.seek(SeekFrom::Start(0))?;
    let lines = BufReader::new(file).lines();
    Ok(lines.filter_map(|line| match line {
        Ok(line) => serde_json::from_str(&line).ok().map(Ok),
        Err(error) => Some(Err(error)),
    }))
}

/// What is written next begins a line of its own, whatever became of the last.
fn end_last_line(file: &mut File) -> io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

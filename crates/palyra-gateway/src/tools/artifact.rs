//! `artifact.read`.

use futures_util::future::BoxFuture;
use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::ToolReach;
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::{Database, Tx, describe};
use serde::Deserialize;
use serde_json::json;

use super::ask::{arguments, reads};
use super::page::{LEAST, more, page, wanted};
use crate::lineage::inherited;
use crate::store::{runs, sessions};
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};

#[cfg(test)]
mod tests;

/// Less than what is itself put aside as too long.
const LIMIT: u64 = 15_000;
/// So many runs back a model can have been told of a result.
const MOST_RUNS: u32 = 128;

/// In whose name a run holds what it was given.
pub(crate) fn holder(run: RunId) -> String {
    format!("run:{run}")
}

pub(super) struct Read {
    pub(super) db: Database,
    pub(super) blobs: BlobStore,
}

#[derive(Deserialize)]
struct Wanted {
    id: String,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
}

impl Tool for Read {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "artifact.read",
            description: "Reads on in a result of an earlier call that was too long to be shown \
                          as a whole.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "id": {
                        "type": "string", "pattern": "^[0-9a-f]{64}$",
                        "description": "The id that stands behind the part that was shown.",
                    },
                    "offset": {
                        "type": "integer", "minimum": 0,
                        "description": "The byte to begin at.",
                    },
                    "limit": {
                        "type": "integer", "minimum": LEAST, "maximum": LIMIT,
                        "description": "How many bytes.",
                    },
                },
                "required": ["id"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let id = self.found(call, &arguments::<Wanted>(call)?).await?;
            Ok(reads(ToolReach::OwnData, format!("read on in the result {id}")))
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let asked: Wanted = arguments(call)?;
            let id = self.found(call, &asked).await?;
            let limit = asked.limit.unwrap_or(LIMIT).clamp(LEAST, LIMIT);
            let lost =
                |error| ToolFault::new(format!("the result is not there: {}", describe(&error)));
            let size = self.blobs.size(&id).await.map_err(lost)?.unwrap_or(0);
            if asked.offset > 0 && asked.offset >= size {
                return Err(ToolFault::new(format!("the result has only {size} bytes")));
            }
            let range = asked.offset..asked.offset.saturating_add(wanted(limit));
            let bytes = self.blobs.get_range(&id, range).await.map_err(lost)?;
            let page = page(&bytes, asked.offset, limit)?;
            let mut told = page.text.to_owned();
            told.extend(more(page.next, size));
            Ok(ToolDone::untrusted(told))
        })
    }
}

impl Read {
    /// The blob, if this conversation was given it: whoever guesses the name of another learns
    /// nothing, not even whether it is there.
    async fn found(&self, call: &Invocation, asked: &Wanted) -> Result<BlobId, ToolFault> {
        let foreign = || {
            ToolFault::new(
                "this conversation has no such result: take the id that it was shown with",
            )
        };
        let id: BlobId = asked.id.parse().map_err(|_| foreign())?;
        let (run, session, wanted) = (call.run, call.session, id.clone());
        let read = move |tx: &mut Tx<'_>| {
            if BlobStore::is_held(tx, &wanted, &holder(run))? {
                return Ok(true);
            }
            let mut earlier = runs::list(tx, None, Some(session), None, MOST_RUNS)?;
            if let Some(session) = sessions::one(tx, session)? {
                for part in inherited(tx, &session)? {
                    let left =
                        MOST_RUNS.saturating_sub(u32::try_from(earlier.len()).unwrap_or(u32::MAX));
                    earlier.extend(runs::in_part(tx, part, i64::MAX, left)?);
                }
            }
            for run in earlier {
                if BlobStore::is_held(tx, &wanted, &holder(run.id))? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let ours = self.db.read(read).await;
        let ours = ours.map_err(|error| ToolFault::new(describe(&error)))?;
        if ours { Ok(id) } else { Err(foreign()) }
    }
}

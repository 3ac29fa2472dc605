//! Tapes in the database, replayed and compared. They are read page by page, however long they are.

use palyra_common::api::{Compared, Replayed};
use palyra_common::ids::RunId;
use palyra_common::tape::TapeEntry;

use crate::compare::{Comparison, Side};
use crate::error::GatewayError;
use crate::replay::{Replay, Texts};
use crate::sessions::Sessions;

/// Events that are read at once.
const PAGE: u32 = 256;

impl Sessions {
    /// Says whether what is on the tape of a run would be decided today, too.
    pub async fn replay(&self, run: RunId) -> Result<Replayed, GatewayError> {
        let (mut replay, mut pages) = (Replay::new(run), self.pages(run).await?);
        loop {
            let page = pages.next().await?;
            let goes_on = page.iter().all(|entry| replay.read(entry, Texts::Whole));
            if page.is_empty() || !goes_on {
                return Ok(replay.outcome());
            }
        }
    }

    /// Says where two runs part, and what they came to.
    pub async fn compare(&self, left: RunId, right: RunId) -> Result<Compared, GatewayError> {
        let mut comparison = Comparison::new(left, right);
        let (mut left, mut right) = (self.pages(left).await?, self.pages(right).await?);
        while let Some(side) = comparison.wants() {
            let page = match side {
                Side::Left => left.next().await?,
                Side::Right => right.next().await?,
            };
            comparison.read(side, page);
        }
        Ok(comparison.outcome())
    }

    async fn pages(&self, run: RunId) -> Result<Pages<'_>, GatewayError> {
        self.run(run).await?;
        Ok(Pages { sessions: self, run, after: 0 })
    }
}

/// The pages of a tape, the last of which is empty.
struct Pages<'a> {
    sessions: &'a Sessions,
    run: RunId,
    after: i64,
}

impl Pages<'_> {
    async fn next(&mut self) -> Result<Vec<TapeEntry>, GatewayError> {
        let page = self.sessions.tape(self.run, self.after, PAGE).await?;
        if let Some(last) = page.last() {
            self.after = last.seq;
        }
        Ok(page)
    }
}

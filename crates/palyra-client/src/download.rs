//! An answer that is too large to be held.

use bytes::Bytes;
use palyra_common::BackupId;
use palyra_common::api::{BACKUP_ID_HEADER, BackupMaking};
use reqwest::Response;

use crate::client::Client;
use crate::error::ClientError;

/// A stream of bytes. What was received before an error is not whole and must not be used.
#[derive(Debug)]
pub struct Download {
    client: Client,
    response: Response,
    backup: Option<BackupId>,
}

impl Download {
    pub(crate) fn of_backup(client: Client, response: Response) -> Self {
        let named = response.headers().get(BACKUP_ID_HEADER);
        let backup = named.and_then(|id| id.to_str().ok()?.parse().ok());
        Self { client, response, backup }
    }

    /// The next piece; none after the end. Where it breaks off, the daemon is asked for the reason.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        match self.response.chunk().await {
            Ok(chunk) => Ok(chunk),
            Err(error) => Err(self.reason(self.client.failed(error)).await),
        }
    }

    /// What the daemon says of a stream that is `broken`; a break itself says nothing. Where it says
    /// nothing either, it is the connection that broke.
    async fn reason(&self, broken: ClientError) -> ClientError {
        let Some(id) = self.backup else { return broken };
        match self.client.backup_making(id).await {
            Ok(BackupMaking { error: Some(error), .. }) => ClientError::Refused(Box::new(error)),
            // The credential has ended meanwhile, or the database is away.
            Err(ClientError::Refused(told)) if says_why(told.code()) => ClientError::Refused(told),
            Ok(_) | Err(_) => broken,
        }
    }
}

fn says_why(code: &str) -> bool {
    ["auth/", "storage/"].iter().any(|domain| code.starts_with(domain))
}

//! An answer that is too large to be held.

use bytes::Bytes;
use reqwest::Response;

use crate::client::Client;
use crate::error::ClientError;

/// A stream of bytes. What was received before an error is not whole and must not be used.
#[derive(Debug)]
pub struct Download {
    client: Client,
    response: Response,
}

impl Download {
    pub(crate) fn new(client: Client, response: Response) -> Self {
        Self { client, response }
    }

    /// The next piece; none after the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        self.response.chunk().await.map_err(|error| self.client.failed(error))
    }
}

//! How answers are read: within limits, and an error as what it is.

use std::time::Duration;

use palyra_common::StableErrorEnvelope;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;

use crate::client::{ANSWER_TIMEOUT, Client};
use crate::error::ClientError;

/// No answer but a stream is larger than this.
const ANSWER_BYTES: usize = 16 << 20;

impl Client {
    /// Sends `request` and reads the JSON that answers it.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        self.json_within(ANSWER_TIMEOUT, request).await
    }

    /// As [`Self::json`], for an answer that has to be there after `limit`.
    pub(crate) async fn json_within<T: DeserializeOwned>(
        &self,
        limit: Duration,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        let response = self.accepted(request.timeout(limit)).await?;
        self.decode(response).await
    }

    /// Sends `request` as it is; an error status is an error.
    pub(crate) async fn accepted(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = self.send(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response).await)
    }

    pub(crate) async fn decode<T: DeserializeOwned>(
        &self,
        response: Response,
    ) -> Result<T, ClientError> {
        let bytes = self.bounded(response).await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.unexpected(format!("something else than was asked: {error}")))
    }

    /// The whole body.
    pub(crate) async fn bounded(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES {
                return Err(self.unexpected(format!("more than {} MiB", ANSWER_BYTES >> 20)));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        let envelope = match self.bounded(response).await {
            Ok(bytes) => serde_json::from_slice::<StableErrorEnvelope>(&bytes),
            Err(error) => return error,
        };
        match envelope {
            Ok(envelope) => ClientError::Refused(Box::new(envelope)),
            Err(_) => self.unexpected(without_envelope(status)),
        }
    }
}

/// Of an answer that is not ours only the status is told; its text could hold anything.
fn without_envelope(status: StatusCode) -> String {
    format!("status {status} and no error of ours")
}

//! The Agent Control Protocol.

use palyra_common::api::acp::ACP_VERSION;
use palyra_common::api::{AcpCommandEnvelope, AcpCommandResultEnvelope};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::Client;
use crate::error::ClientError;

impl Client {
    /// Has something changed by a command, and gives what came of it. Sent again with the same `key` it is
    /// carried out once.
    pub async fn command<T: DeserializeOwned>(
        &self,
        command: &str,
        params: &impl Serialize,
        key: &str,
    ) -> Result<T, ClientError> {
        let params = match serde_json::to_value(params) {
            Ok(Value::Object(params)) => params,
            Ok(_) | Err(_) => {
                return Err(self.unexpected("nothing: the request has no form".to_owned()));
            }
        };
        let envelope = AcpCommandEnvelope {
            v: ACP_VERSION,
            request_id: key.to_owned(),
            command: command.to_owned(),
            params,
            idempotency_key: Some(key.to_owned()),
            expected_version: None,
        };
        let request = self.request(Method::POST, &["console", "v1", "acp"]);
        let told: AcpCommandResultEnvelope = self.json(self.with_json(request, &envelope)?).await?;
        if let Some(error) = told.error {
            return Err(ClientError::Refused(Box::new(error)));
        }
        serde_json::from_value(told.result.unwrap_or_default())
            .map_err(|error| self.unexpected(format!("something else than was asked: {error}")))
    }
}

//! Agents and the models that they think with, call by call.

use palyra_common::api::{Agent, AgentChange, Model, ModelTested, NewAgent, Page};
use palyra_common::ids::AgentId;
use reqwest::Method;

use crate::calls::LONG_WORK;
use crate::channels::page;
use crate::client::{ANSWER_TIMEOUT, Client};
use crate::error::ClientError;

impl Client {
    /// A page of agents by name; `after` is the `next` of the page before.
    pub async fn agents(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<Agent>, ClientError> {
        let path = ["admin", "v1", "agents"];
        self.json(self.request_with(Method::GET, &path, &page(after, limit))).await
    }

    /// One agent.
    pub async fn agent(&self, id: &AgentId) -> Result<Agent, ClientError> {
        self.json(self.admin(Method::GET, &["agents", id.as_str()])).await
    }

    /// Makes an agent.
    pub async fn add_agent(&self, new: &NewAgent) -> Result<Agent, ClientError> {
        self.json(self.with_json(self.admin(Method::POST, &["agents"]), new)?).await
    }

    /// Replaces what an agent is.
    pub async fn change_agent(
        &self,
        id: &AgentId,
        change: &AgentChange,
    ) -> Result<Agent, ClientError> {
        let request = self.admin(Method::PUT, &["agents", id.as_str()]);
        self.json(self.with_json(request, change)?).await
    }

    /// Removes an agent.
    pub async fn remove_agent(&self, id: &AgentId) -> Result<(), ClientError> {
        let request = self.admin(Method::DELETE, &["agents", id.as_str()]);
        self.accepted(request.timeout(ANSWER_TIMEOUT)).await.map(drop)
    }

    /// All models.
    pub async fn models(&self) -> Result<Page<Model>, ClientError> {
        self.json(self.admin(Method::GET, &["models"])).await
    }

    /// Asks a model something small, which may take as long as its provider takes.
    pub async fn test_model(&self, name: &str) -> Result<ModelTested, ClientError> {
        let request = self.admin(Method::POST, &["models", name, "test"]);
        let response = self.accepted(self.patient(request, LONG_WORK)?).await?;
        self.decode(response).await
    }
}

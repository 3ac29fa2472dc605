//! Questions to humans, call by call.

use palyra_common::api::{Approval, ApprovalDecision, Page};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::ApprovalState;
use reqwest::Method;

use crate::channels::page;
use crate::client::Client;
use crate::error::ClientError;

impl Client {
    /// A page of questions; `after` is the `next` of the page before.
    pub async fn approvals(
        &self,
        state: Option<ApprovalState>,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page<Approval>, ClientError> {
        let mut pairs = page(after, limit);
        pairs.extend(state.map(|state| ("state", state.as_str().to_owned())));
        let path = ["admin", "v1", "approvals"];
        self.json(self.request_with(Method::GET, &path, &pairs)).await
    }

    /// One question.
    pub async fn approval(&self, id: ApprovalId) -> Result<Approval, ClientError> {
        self.json(self.admin(Method::GET, &["approvals", &id.to_string()])).await
    }

    /// Answers a question. Of several who answer at once one wins, and the others are told so.
    pub async fn decide(
        &self,
        id: ApprovalId,
        decision: &ApprovalDecision,
    ) -> Result<Approval, ClientError> {
        let request = self.admin(Method::POST, &["approvals", &id.to_string(), "decision"]);
        self.json(self.with_json(request, decision)?).await
    }
}

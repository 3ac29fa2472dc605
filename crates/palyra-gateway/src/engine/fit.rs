//! What a model gets to see of a conversation, with a summary of what does not fit.

use palyra_common::runtime_contracts::RunEnd;

use super::compact::Compacted;
use super::context::{self, Context, Recipe};
use super::drive::{Flow, Held};
use crate::error::GatewayError;

impl Held {
    /// What a model gets to see. Where that is not all that was said, there is a summary first.
    pub(super) async fn fitting_context(&mut self) -> Result<Result<Context, Flow>, GatewayError> {
        let built = match self.context().await? {
            Ok(built) => built,
            Err(flow) => return Ok(Err(flow)),
        };
        let Some(through) = built.compact_through else { return Ok(Ok(built)) };
        let answer = self.options.thinker.worst_case(&self.agent.models, &built.request);
        match self.compact(through, answer).await? {
            Compacted::Made => self.context().await,
            Compacted::Nothing => Ok(Ok(built)),
            Compacted::Called => Ok(Err(Flow::GoOn)),
            Compacted::Lost => Ok(Err(Flow::Stop)),
        }
    }

    async fn context(&mut self) -> Result<Result<Context, Flow>, GatewayError> {
        let recipe = Recipe::of(&self.run, &self.session);
        let spoken = match self.spoken.take() {
            Some(spoken) => spoken,
            None => self.options.db.read(move |tx| recipe.read(tx)).await?,
        };
        let tools = self.options.tools.offered(&self.agent);
        let (outgoing, thinker) = (self.options.outgoing.clone(), self.options.thinker.clone());
        match context::build(spoken, &*outgoing, &*thinker, &self.agent, tools) {
            Ok(built) => Ok(Ok(built)),
            Err(too_long) => {
                self.finish(RunEnd::TokenLimit, Some(too_long.to_string())).await?;
                Ok(Err(Flow::Stop))
            }
        }
    }
}

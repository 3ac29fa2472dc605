//! Thinking with the models of the configuration as it is now.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::AuxiliaryPreference;
use palyra_gateway::{ModelThinker, Thinker, Thought, ThoughtError};
use palyra_models::{DeltaSink, ModelRequest, Models, ModelsConfig};
use palyra_policy::budget::Amount;

use super::RunPlatform;
use crate::app::Live;
use crate::failure::Failure;

/// Calls under way go on with what they began with.
pub(crate) struct Thinking(pub(super) Arc<Live<Models>>);

impl Thinking {
    fn now(&self) -> ModelThinker {
        ModelThinker::new(self.0.load())
    }
}

impl Thinker for Thinking {
    fn think<'a>(
        &'a self,
        models: &'a [String],
        later: u32,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>> {
        let thinker = self.now();
        async move { thinker.think(models, later, request, sink).await }.boxed()
    }

    fn names_conversations(&self) -> bool {
        self.now().names_conversations()
    }

    fn preferred(&self, models: &[String], preference: AuxiliaryPreference) -> Vec<String> {
        self.now().preferred(models, preference)
    }

    fn worst_case(&self, models: &[String], request: &ModelRequest) -> Amount {
        self.now().worst_case(models, request)
    }

    fn reads(&self, models: &[String], answer: u64) -> Option<u64> {
        self.now().reads(models, answer)
    }

    fn tokens(&self, text: &str) -> u64 {
        palyra_models::count_tokens(text)
    }
}

impl RunPlatform {
    /// The models from the next call on. What is known of how providers do is found out anew.
    pub(crate) fn reload(&self, config: &ModelsConfig) -> Result<(), Failure> {
        let models = Models::new(config, self.keys.clone(), self.clock.clone())
            .map_err(|error| Failure::Refused(error.envelope()))?;
        self.models.store(models);
        Ok(())
    }
}

//! Thinking with the models of this installation.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::{AuxiliaryPreference, RetryClass};
use palyra_models::{
    DeltaSink, ModelError, ModelInfo, ModelName, ModelRequest, Models, Next, Unanswered, cost,
    count_request, count_tokens,
};
use palyra_policy::auxiliary::{Candidate, preferred};
use palyra_policy::budget::Amount;

use crate::engine::{Thinker, Thought, ThoughtError};
use crate::metrics;

#[cfg(test)]
mod tests;

/// Asks the models that an operator has set up.
pub struct ModelThinker {
    models: Arc<Models>,
}

impl ModelThinker {
    /// With these models.
    pub fn new(models: Arc<Models>) -> Self {
        Self { models }
    }

    /// The models by their names; without any, those of the installation. What is no name of a
    /// model is none of them.
    fn named(&self, names: &[String]) -> Vec<ModelName> {
        match names {
            [] => self.models.default_list().to_vec(),
            names => names.iter().filter_map(|name| name.parse().ok()).collect(),
        }
    }
}

impl Thinker for ModelThinker {
    fn think<'a>(
        &'a self,
        models: &'a [String],
        later: u32,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>> {
        async move {
            let mut list = self.named(models);
            if list.is_empty() {
                let none = ModelError::NoneNamed.envelope();
                let what = "what the agent names is no model: give it one".to_owned();
                let hint = none.recovery_hint().to_owned();
                let (class, owed) = (RetryClass::Permanent, Amount::default());
                return Err(ThoughtError { what, hint, class, after: None, owed });
            }
            let first = later as usize % list.len();
            list.rotate_left(first);
            let answer = match self.models.complete(&list, request, sink).await {
                Ok(answer) => answer,
                Err(Unanswered { error, owed, next }) => {
                    let (class, after) = match next {
                        Next::SomebodyElse => (RetryClass::TransientNetwork, None),
                        Next::NobodyElse => (error.retry_class(), error.retry_after()),
                    };
                    let what = error.to_string();
                    let owed = Amount { tokens: owed.tokens, micros: owed.cost.0 };
                    let hint = error.envelope().recovery_hint().to_owned();
                    return Err(ThoughtError { what, hint, class, after, owed });
                }
            };
            let usage = answer.completion.usage;
            let price = self.models.info(&answer.by).map(|info| info.price).unwrap_or_default();
            let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
            let spent = Amount { tokens, micros: cost(usage, price).0 };
            metrics::answered(answer.by.as_str(), usage, spent.micros);
            let passed_over = answer.passed_over.iter();
            let passed_over = passed_over.map(|of| format!("{}: {}", of.model, of.error)).collect();
            Ok(Thought { completion: answer.completion, passed_over, spent })
        }
        .boxed()
    }

    fn preferred(&self, models: &[String], preference: AuxiliaryPreference) -> Vec<String> {
        let mut names = self.models.auxiliary_list().to_vec();
        let own = self.named(models).into_iter().filter(|name| !names.contains(name));
        let own: Vec<_> = own.collect();
        names.extend(own);
        names.retain(|name| self.models.info(name).is_ok());
        let infos = names.iter().filter_map(|name| self.models.info(name).ok());
        let candidates: Vec<_> = infos.map(candidate).collect();
        let places = preferred(preference, &candidates).into_iter();
        places.map(|place| names[place].to_string()).collect()
    }

    fn names_conversations(&self) -> bool {
        self.models.name_conversations()
    }

    fn worst_case(&self, models: &[String], request: &ModelRequest) -> Amount {
        let micros = self.models.worst_cost(&self.named(models), request).0;
        let tokens = count_request(request).saturating_add(u64::from(request.max_output_tokens));
        Amount { tokens, micros }
    }

    fn reads(&self, models: &[String], answer: u64) -> Option<u64> {
        let named = self.named(models);
        let known = named.iter().filter_map(|name| self.models.info(name).ok());
        let besides = known.map(|info| {
            let answer = answer.min(info.max_output_tokens.into());
            u64::from(info.context_tokens).saturating_sub(answer)
        });
        besides.min()
    }

    fn tokens(&self, text: &str) -> u64 {
        count_tokens(text)
    }
}

/// What a side call goes by. It reads about four times as much as it writes.
fn candidate(info: &ModelInfo) -> Candidate {
    let (read, written) = (info.price.input.0, info.price.output.0);
    Candidate {
        follows: info.capabilities.instructions,
        images: info.capabilities.images,
        latency: info.latency,
        cost: read.saturating_mul(4).saturating_add(written),
    }
}

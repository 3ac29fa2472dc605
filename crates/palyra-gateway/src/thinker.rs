//! Thinking with the models of this installation.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::RetryClass;
use palyra_models::{
    DeltaSink, ModelError, ModelName, ModelRequest, Models, Owed, Unanswered, cost, count_request,
    count_tokens,
};
use palyra_policy::budget::Amount;

use crate::engine::{Thinker, Thought, ThoughtError};
use crate::metrics;

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
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>> {
        async move {
            let list = self.named(models);
            if list.is_empty() {
                let none = ModelError::NoneNamed.envelope();
                let what = "what the agent names is no model: give it one".to_owned();
                let hint = none.recovery_hint().to_owned();
                let (class, owed) = (RetryClass::Permanent, Amount::default());
                return Err(ThoughtError { what, hint, class, after: None, owed });
            }
            let answer = match self.models.complete(&list, request, sink).await {
                Ok(answer) => answer,
                Err(Unanswered { error, owed }) => {
                    let (class, after) = (error.retry_class(), error.retry_after());
                    let (what, owed) = (error.to_string(), amount(owed));
                    let hint = error.envelope().recovery_hint().to_owned();
                    return Err(ThoughtError { what, hint, class, after, owed });
                }
            };
            let usage = answer.completion.usage;
            let price = self.models.info(&answer.by).map(|info| info.price).unwrap_or_default();
            // What was asked in vain may have to be paid, too.
            let owed = answer.passed_over.iter().map(|passed| amount(passed.owed));
            let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
            let own = Amount { tokens, micros: cost(usage, price).0 };
            let spent = owed.fold(own, Amount::plus);
            metrics::answered(answer.by.as_str(), usage, spent.micros);
            let passed_over = answer.passed_over.iter();
            let passed_over = passed_over.map(|of| format!("{}: {}", of.model, of.error)).collect();
            Ok(Thought { completion: answer.completion, passed_over, spent })
        }
        .boxed()
    }

    fn worst_case(&self, models: &[String], request: &ModelRequest) -> Amount {
        let micros = self.models.worst_cost(&self.named(models), request).0;
        let tokens = count_request(request).saturating_add(u64::from(request.max_output_tokens));
        Amount { tokens, micros }
    }

    fn tokens(&self, text: &str) -> u64 {
        count_tokens(text)
    }
}

fn amount(owed: Owed) -> Amount {
    Amount { tokens: owed.tokens, micros: owed.cost.0 }
}

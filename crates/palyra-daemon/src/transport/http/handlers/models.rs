use std::time::Instant;

use axum::Json;
use axum::extract::State;
use palyra_common::ErrorCode;
use palyra_common::api::{Model, ModelPrice, ModelState, ModelTested, Page};
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Duration;
use palyra_models::{
    Delta, DeltaSink, ModelInfo, ModelName, ModelRequest, Models, ProviderState, Turn, cost,
};

use crate::app::App;
use crate::transport::http::body::PathOf;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

/// What a model is asked to see whether it answers.
const QUESTION: &str = "Reply with the one word ready.";
/// How long its answer may be.
const ANSWER_TOKENS: u32 = 256;

/// The models that agents can think with, by name
#[utoipa::path(get, path = "/admin/v1/models", tag = "models",
    responses((status = 200, body = Page<Model>)))]
pub(crate) async fn list_models(
    State(app): State<App>,
    caller: Caller,
) -> Answer<Json<Page<Model>>> {
    caller.allow(Scope::AgentsRead)?;
    let models = app.runs.models.load();
    let items = models.list().map(|info| told(&models, info)).collect();
    Ok(Json(Page { items, next: None }))
}

/// Asks a model something small, which may cost money, also if its provider is left alone
#[utoipa::path(post, path = "/admin/v1/models/{name}/test", tag = "models",
    params(("name" = String, Path, description = "Which model")),
    responses((status = 200, body = ModelTested)))]
pub(crate) async fn test_model(
    State(app): State<App>,
    caller: Caller,
    PathOf(name): PathOf<String>,
) -> Answer<Json<ModelTested>> {
    caller.allow(Scope::ModelsUse)?;
    let models = app.runs.models.load();
    let name: ModelName = name.parse().map_err(|error: palyra_models::ModelNameError| {
        Refusal::new(ErrorCode::CommonNotFound, error.to_string())
    })?;
    let price = models.info(&name).map_err(|error| Refusal::from(error.envelope()))?.price;
    let request = ModelRequest {
        turns: vec![Turn::user(QUESTION)],
        max_output_tokens: ANSWER_TOKENS,
        ..ModelRequest::default()
    };
    let (began, mut heard) = (Instant::now(), Heard(None));
    let done = models.test(&name, &request, &mut heard).await;
    let mut tested = ModelTested {
        name: name.to_string(),
        ok: done.is_ok(),
        answer: None,
        error: None,
        first_piece_ms: heard.0.map(|first| millis(first.duration_since(began))),
        took_ms: millis(began.elapsed()),
        input_tokens: 0,
        output_tokens: 0,
        cost_micros: 0,
    };
    match done {
        Ok(answer) => {
            let usage = answer.usage;
            tested.answer = Some(app.channels.outgoing.clean(&answer.text));
            (tested.input_tokens, tested.output_tokens) = (usage.input_tokens, usage.output_tokens);
            tested.cost_micros = cost(usage, price).0;
        }
        Err(failed) => {
            let told = failed.error.envelope();
            tested.cost_micros = failed.owed.cost.0;
            let advice = advice(told.recovery_hint(), failed.error.retry_after());
            tested.error = Some(format!("{told}: {advice}"));
        }
    }
    Ok(Json(tested))
}

/// What to do after a test. Nobody makes it again, as is done for a run.
fn advice(hint: &str, retry_after: Option<Duration>) -> String {
    let Some(of_a_run) = hint.strip_prefix("Nothing to do: ") else { return hint.to_owned() };
    let (_, lasting) = of_a_run.split_once(". ").unwrap_or_default();
    let seconds = |wait: Duration| Duration::from_secs(wait.as_millis().div_ceil(1_000));
    let when = retry_after.map_or("later".to_owned(), |wait| format!("in {}", seconds(wait)));
    format!("Try again {when}. {lasting}")
}

/// When the first piece came.
struct Heard(Option<Instant>);

impl DeltaSink for Heard {
    fn delta(&mut self, _: Delta<'_>) {
        self.0.get_or_insert_with(Instant::now);
    }
}

fn millis(took: std::time::Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

fn told(models: &Models, info: &ModelInfo) -> Model {
    let status = models.providers().into_iter().find(|status| status.name == info.provider);
    let (state, retry_after) = match status {
        Some(status) => (status.state, status.retry_after),
        None => (ProviderState::Open, None),
    };
    Model {
        name: info.name.to_string(),
        provider: info.provider.clone(),
        model: info.model.clone(),
        context_tokens: info.context_tokens,
        max_output_tokens: info.max_output_tokens,
        price: ModelPrice {
            input_micros: info.price.input.0,
            cached_input_micros: info.price.cached_input.0,
            output_micros: info.price.output.0,
        },
        tools: info.capabilities.tools,
        images: info.capabilities.images,
        latency: info.latency,
        state: match state {
            ProviderState::Open => ModelState::Open,
            ProviderState::Paused => ModelState::Paused,
            ProviderState::Trying => ModelState::Trying,
        },
        retry_after,
    }
}

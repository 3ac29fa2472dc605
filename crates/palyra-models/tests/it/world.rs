//! Models whose providers are simulators.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::Timestamp;
use palyra_models::{
    Answer, ApiKey, Completion, Delta, DeltaSink, ModelEntryConfig, ModelError, ModelName,
    ModelProviderConfig, ModelRequest, Models, ModelsConfig, Problem, ProviderKind, SecretError,
    SecretRef, SecretSource, ToolSpec, Turn,
};
use palyra_testkit::clock::FakeClock;
use palyra_testkit::model_sim::ModelSim;
use serde_json::json;

/// A bound on waiting for what comes at once.
pub(crate) const LONG: Duration = Duration::from_secs(60);
pub(crate) const KEY: &str = "canary-4b1d-key-of-no-known-shape";
pub(crate) const KINDS: [ProviderKind; 2] = [ProviderKind::Openai, ProviderKind::Anthropic];

/// Simulators `a` and `b`, each with a model of the same name.
pub(crate) struct World {
    pub(crate) a: ModelSim,
    pub(crate) b: ModelSim,
    pub(crate) models: Models,
    pub(crate) clock: FakeClock,
}

/// Knows one key.
pub(crate) struct Keys;

impl SecretSource for Keys {
    fn secret<'a>(&'a self, name: &'a SecretRef) -> BoxFuture<'a, Result<ApiKey, SecretError>> {
        let found = match name.as_str() {
            "global/key" => Ok(ApiKey::from(KEY.to_owned())),
            "global/two-lines" => Ok(ApiKey::from(format!("{KEY}\nx"))),
            _ => Err(SecretError {
                what: "there is no such secret".into(),
                class: RetryClass::Permanent,
            }),
        };
        async move { found }.boxed()
    }
}

/// Waits until something is seen, and lets connections end meanwhile.
pub(crate) async fn until(seen: impl Fn() -> bool) {
    let looking = async {
        while !seen() {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    tokio::time::timeout(LONG, looking).await.unwrap();
}

/// Notes what it is told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) pieces: Vec<String>,
}

impl DeltaSink for Heard {
    fn delta(&mut self, delta: Delta<'_>) {
        if let Delta::Text(text) = delta {
            self.pieces.push(text.to_owned());
        }
    }
}

impl World {
    pub(crate) fn new(kind: ProviderKind) -> Self {
        Self::with(kind, |_| ())
    }

    pub(crate) fn with(kind: ProviderKind, change: impl FnOnce(&mut ModelsConfig)) -> Self {
        let (a, b) = (ModelSim::start().unwrap(), ModelSim::start().unwrap());
        let mut config = ModelsConfig::default();
        for (name, sim) in [("a", &a), ("b", &b)] {
            config.providers.insert(name.into(), provider(kind, sim));
            config.entries.insert(name.into(), entry(name));
        }
        change(&mut config);
        let clock = FakeClock::new(Timestamp::from_unix_millis(1_000_000));
        let models = Models::new(&config, Arc::new(Keys), Arc::new(clock.clone())).unwrap();
        Self { a, b, models, clock }
    }

    /// Asks model `a`.
    pub(crate) async fn ask(&self, request: &ModelRequest) -> Result<Completion, ModelError> {
        self.ask_list(&["a"], request, &mut Heard::default()).await.map(|answer| answer.completion)
    }

    pub(crate) async fn ask_list(
        &self,
        list: &[&str],
        request: &ModelRequest,
        heard: &mut Heard,
    ) -> Result<Answer, ModelError> {
        let list: Vec<ModelName> = list.iter().map(|name| name.parse().unwrap()).collect();
        self.models.complete(&list, request, heard).await.map_err(|failed| failed.error)
    }

    /// What goes wrong when `a` is asked.
    pub(crate) async fn problem(&self, request: &ModelRequest) -> Problem {
        self.ask(request).await.unwrap_err().problem().unwrap().clone()
    }
}

pub(crate) fn provider(kind: ProviderKind, sim: &ModelSim) -> ModelProviderConfig {
    let base_url = match kind {
        ProviderKind::Openai => sim.openai_url(),
        ProviderKind::Anthropic => sim.url(),
    };
    let api_key = "global/key".into();
    ModelProviderConfig { kind, base_url, api_key, ..ModelProviderConfig::default() }
}

pub(crate) fn entry(provider: &str) -> ModelEntryConfig {
    ModelEntryConfig {
        provider: provider.into(),
        model: format!("{provider}-large"),
        images: true,
        input_price: 1_000_000,
        output_price: 2_000_000,
        ..ModelEntryConfig::default()
    }
}

pub(crate) fn hello() -> ModelRequest {
    ModelRequest {
        system: Some("be kind".into()),
        turns: vec![Turn::user("hello there")],
        max_output_tokens: 100,
        ..ModelRequest::default()
    }
}

pub(crate) fn with_tools(request: ModelRequest) -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "a tool".into(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    ModelRequest { tools: ["fs.read", "fs_read", "time.now"].map(tool).to_vec(), ..request }
}

//! The models of an installation: which there are, and which one answers.

mod adapt;
mod gate;
mod name;
mod owed;

use std::collections::BTreeMap;
use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{ModelLatency, RetryClass};
use palyra_common::text;
use palyra_common::time::{Clock, Duration};
use palyra_policy::breaker::Rules;
use serde::{Deserialize, Serialize};

pub use gate::{ProviderState, ProviderStatus};
pub use name::{ModelName, ModelNameError};
pub use owed::{Next, Owed, Unanswered};

use crate::config::{ModelEntryConfig, ModelProviderConfig, ModelsConfig};
use crate::error::{ModelError, Problem};
use crate::offline::{OFFLINE, Offline};
use crate::port::{Delta, DeltaSink, ModelProvider};
use crate::price::{MicroUsd, Price, worst_cost};
use crate::remote::Remote;
use crate::request::{Completion, ModelRequest};
use crate::secret::SecretSource;
use gate::{Gate, Pass};

/// Beyond any timeout of a provider.
const PATIENCE: Duration = Duration::from_hours(1);

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name by which agents call it.
    pub name: ModelName,
    /// Its provider.
    pub provider: String,
    /// What the provider calls it.
    pub model: String,
    /// How many tokens it can take, its answer included.
    pub context_tokens: u32,
    /// How many tokens an answer may have.
    pub max_output_tokens: u32,
    /// What it costs.
    pub price: Price,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How soon it answers.
    pub latency: ModelLatency,
}

/// What a model can do besides words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Use tools.
    pub tools: bool,
    /// Look at pictures.
    pub images: bool,
    /// Do what it is told. The offline model follows rules of its own.
    pub instructions: bool,
}

/// An answer, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was answered.
    pub completion: Completion,
    /// By which model.
    pub by: ModelName,
    /// Those before it in the list that could not be used.
    pub passed_over: Vec<PassedOver>,
}

/// A model that could not be used, and costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct PassedOver {
    /// Which one.
    pub model: ModelName,
    /// Why.
    pub error: ModelError,
}

/// All models of an installation. Shared by whoever asks; there is one for the process, because it
/// knows which providers are to be left alone.
pub struct Models {
    entries: BTreeMap<ModelName, Entry>,
    providers: BTreeMap<String, Gate>,
    default: Vec<ModelName>,
    auxiliary: Vec<ModelName>,
    titles: bool,
    failover_on_refusal: bool,
    clock: Arc<dyn Clock>,
}

struct Entry {
    info: ModelInfo,
    provider: Arc<dyn ModelProvider>,
}

impl Models {
    /// What the configuration describes, and the offline model. Nobody is asked yet.
    pub fn new(
        config: &ModelsConfig,
        secrets: Arc<dyn SecretSource>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ModelError> {
        config.check()?;
        let remote = |(name, of): (&String, &ModelProviderConfig)| {
            let made: Arc<dyn ModelProvider> =
                Arc::new(Remote::new(name, of, Arc::clone(&secrets))?);
            Ok((name.clone(), made))
        };
        let mut providers: BTreeMap<String, Arc<dyn ModelProvider>> =
            config.providers.iter().map(remote).collect::<Result<_, ModelError>>()?;
        providers.insert(OFFLINE.into(), Arc::new(Offline));
        let infos = config.entries.iter().map(|(name, entry)| described(name, entry));
        let mut entries = BTreeMap::new();
        for info in infos.chain([built_in()]) {
            let info = info?;
            let provider = providers.get(&info.provider).map(Arc::clone);
            let provider = provider.ok_or_else(|| wrong("a model has a provider"))?;
            entries.insert(info.name.clone(), Entry { info, provider });
        }
        let rules = rules(config);
        Ok(Self {
            entries,
            providers: providers.into_keys().map(|name| (name, Gate::new(rules))).collect(),
            default: config.default.iter().map(|name| name_of(name)).collect::<Result<_, _>>()?,
            titles: config.titles,
            auxiliary: config
                .auxiliary
                .iter()
                .map(|name| name_of(name))
                .collect::<Result<_, _>>()?,
            failover_on_refusal: config.failover_on_refusal,
            clock,
        })
    }

    /// Every model, by name.
    pub fn list(&self) -> impl Iterator<Item = &ModelInfo> {
        self.entries.values().map(|entry| &entry.info)
    }

    /// Those of `names` that are no model here.
    pub fn missing<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let is_there = |name: &&String| self.list().any(|model| model.name.as_str() == **name);
        names.iter().filter(|name| !is_there(name)).map(String::as_str).collect()
    }

    /// The models of an agent that has no list of its own.
    pub fn default_list(&self) -> &[ModelName] {
        &self.default
    }

    /// The models that may be asked on the side, besides those of an agent.
    pub fn auxiliary_list(&self) -> &[ModelName] {
        &self.auxiliary
    }

    /// Whether one of them names conversations.
    pub fn name_conversations(&self) -> bool {
        self.titles
    }

    /// How each provider is.
    pub fn providers(&self) -> Vec<ProviderStatus> {
        let now = self.clock.now();
        self.providers.iter().map(|(name, gate)| gate.status(name, now)).collect()
    }

    /// What is known of a model.
    pub fn info(&self, name: &ModelName) -> Result<&ModelInfo, ModelError> {
        self.entry(name).map(|entry| &entry.info)
    }

    /// What a request can cost at most, whichever of the list answers, to be set aside before it is
    /// made. Whoever fails in the middle may charge as much: nobody else is asked then.
    pub fn worst_cost(&self, list: &[ModelName], request: &ModelRequest) -> MicroUsd {
        let known = list.iter().filter_map(|name| self.entries.get(name));
        known.map(|entry| entry.worst_cost(request)).max().unwrap_or_default()
    }

    /// Asks the first model of `list` whose provider can be had, once each, in order. The name of
    /// the model in the request does not count; what the model cannot do is left out of it.
    ///
    /// The next one is asked where one is limited or fails for a while, and after a refusal only if
    /// that is configured. What may have to be paid ends it: the next one could cost as much, for which
    /// nothing is set aside. There is no waiting and no second try: an error says when that makes sense.
    /// Whoever drops the future ends the call.
    pub async fn complete(
        &self,
        list: &[ModelName],
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<Answer, Unanswered> {
        let mut passed_over: Vec<PassedOver> = Vec::new();
        let (mut owed, mut next) = (Owed::default(), Next::NobodyElse);
        for (place, name) in list.iter().enumerate() {
            let entry = self.entry(name).map_err(Unanswered::for_nothing)?;
            let mut watched = Watched::new(sink);
            let error = match self.ask(entry, request, &mut watched).await {
                Ok(completion) => {
                    return Ok(Answer { completion, by: name.clone(), passed_over });
                }
                Err(error) => error,
            };
            owed = watched.owed(entry, request, &error);
            let goes_on = self.may_pass_over(&error);
            let (provider, code) = (&entry.info.provider, error.code());
            tracing::warn!(model = %name, %provider, %code, %error, "a model cannot be used");
            passed_over.push(PassedOver { model: name.clone(), error });
            if goes_on && owed != Owed::default() && place + 1 < list.len() {
                next = Next::SomebodyElse;
            }
            if !goes_on || owed != Owed::default() {
                break;
            }
        }
        let mut failures: Vec<ModelError> = passed_over.into_iter().map(|of| of.error).collect();
        let error = match failures.len() {
            0 => ModelError::NoneNamed,
            1 => failures.remove(0),
            _ => ModelError::AllOut { failures },
        };
        Err(Unanswered { error, owed, next })
    }

    /// Asks one model for somebody who wants to know whether it answers: also one that is left alone. If
    /// it does, it is left alone no longer.
    pub async fn test(
        &self,
        name: &ModelName,
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Unanswered> {
        let entry = self.entry(name).map_err(Unanswered::for_nothing)?;
        let gate = self.gate(entry).map_err(Unanswered::for_nothing)?;
        let mut watched = Watched::new(sink);
        let done = gate.enter_anyway(&*self.clock).call(entry, request, &mut watched).await;
        done.map_err(|error| Unanswered {
            owed: watched.owed(entry, request, &error),
            ..Unanswered::for_nothing(error)
        })
    }

    /// Makes one call, if its provider is not to be left alone.
    async fn ask(
        &self,
        entry: &Entry,
        request: &ModelRequest,
        sink: &mut Watched<'_>,
    ) -> Result<Completion, ModelError> {
        let pass = self.gate(entry)?.enter(&*self.clock);
        let pass = pass.map_err(|(retry_after, why)| ModelError::Call {
            provider: entry.info.provider.clone(),
            model: entry.info.model.clone(),
            problem: Problem::Paused { retry_after, why },
        })?;
        pass.call(entry, request, sink).await
    }

    fn gate(&self, entry: &Entry) -> Result<&Gate, ModelError> {
        self.providers.get(&entry.info.provider).ok_or_else(|| wrong("a provider has a gate"))
    }

    fn entry(&self, name: &ModelName) -> Result<&Entry, ModelError> {
        self.entries.get(name).ok_or_else(|| {
            let known = self.entries.keys().map(ModelName::as_str);
            let nearest = text::nearest(name.as_str(), known).and_then(|near| near.parse().ok());
            ModelError::NotConfigured { name: name.clone(), nearest }
        })
    }

    fn may_pass_over(&self, error: &ModelError) -> bool {
        match error.retry_class() {
            RetryClass::RateLimit
            | RetryClass::TransientNetwork
            | RetryClass::ConnectorRestarting => true,
            // An answer without end is no refusal: the next one may cost as much.
            RetryClass::Permanent => {
                self.failover_on_refusal && error.code() != ErrorCode::ModelsAnswerTooLarge
            }
        }
    }
}

impl Pass<'_> {
    async fn call(
        self,
        entry: &Entry,
        request: &ModelRequest,
        sink: &mut Watched<'_>,
    ) -> Result<Completion, ModelError> {
        let request = adapt::to_model(request, &entry.info);
        let done = entry.provider.complete(&request, sink).await;
        self.leave(done.as_ref().err());
        done
    }
}

impl Entry {
    fn worst_cost(&self, request: &ModelRequest) -> MicroUsd {
        worst_cost(request, self.info.price, self.info.max_output_tokens)
    }
}

/// Notes whether anything was heard.
struct Watched<'a> {
    sink: &'a mut dyn DeltaSink,
    heard: Heard,
}

#[derive(PartialEq, Eq)]
enum Heard {
    Nothing,
    Something,
}

impl<'a> Watched<'a> {
    fn new(sink: &'a mut dyn DeltaSink) -> Self {
        Self { sink, heard: Heard::Nothing }
    }

    /// What the model may charge, having failed like this. Whoever has begun to answer has worked,
    /// however that ended.
    fn owed(&self, entry: &Entry, request: &ModelRequest, error: &ModelError) -> Owed {
        let worked = error.may_have_cost() || self.heard == Heard::Something;
        if worked { Owed::worst(entry, request) } else { Owed::default() }
    }
}

impl DeltaSink for Watched<'_> {
    fn delta(&mut self, delta: Delta<'_>) {
        self.heard = Heard::Something;
        self.sink.delta(delta);
    }
}

fn rules(config: &ModelsConfig) -> Rules {
    Rules {
        failures: config.breaker_failures,
        pause: Backoff { base: config.breaker_pause, cap: config.breaker_max_pause },
        patience: PATIENCE,
    }
}

fn described(name: &str, entry: &ModelEntryConfig) -> Result<ModelInfo, ModelError> {
    Ok(ModelInfo {
        name: name_of(name)?,
        provider: entry.provider.clone(),
        model: if entry.model.is_empty() { name.to_owned() } else { entry.model.clone() },
        context_tokens: entry.context_tokens,
        max_output_tokens: entry.max_output_tokens,
        price: Price {
            input: MicroUsd(entry.input_price),
            cached_input: MicroUsd(entry.cached_input_price),
            output: MicroUsd(entry.output_price),
        },
        capabilities: Capabilities { tools: entry.tools, images: entry.images, instructions: true },
        latency: entry.latency,
    })
}

fn built_in() -> Result<ModelInfo, ModelError> {
    Ok(ModelInfo {
        name: name_of(OFFLINE)?,
        provider: OFFLINE.into(),
        model: OFFLINE.into(),
        context_tokens: 131_072,
        max_output_tokens: 4_096,
        price: Price::default(),
        capabilities: Capabilities { tools: true, images: false, instructions: false },
        latency: ModelLatency::Fast,
    })
}

fn name_of(name: &str) -> Result<ModelName, ModelError> {
    name.parse().map_err(|error: ModelNameError| wrong(&format!("{name}: {error}")))
}

fn wrong(what: &str) -> ModelError {
    ModelError::Misconfigured { what: what.to_owned() }
}

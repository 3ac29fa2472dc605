//! What an operator can choose about models: section `[models]` of `palyra.toml`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use palyra_common::runtime_contracts::ModelLatency;
use palyra_common::time::Duration;
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::models::ModelName;
use crate::offline::OFFLINE;
use crate::secret::SecretRef;

#[cfg(test)]
mod tests;

/// Section `[models]`. The comments on its options are what users read in the example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelsConfig {
    /// The models that an agent without a list of its own uses: the first one, or where its provider
    /// cannot be had the next one. offline is always there; it is no AI, and needs no key.
    pub default: Vec<String>,
    /// The models that may be asked on the side, for summaries of long conversations and titles,
    /// besides those of the agent: of all of them the cheapest, the fastest, or one that looks at
    /// pictures. Empty: those of the agent alone.
    pub auxiliary: Vec<String>,
    /// Whether a model names a conversation that nobody has named, after its first answer. Otherwise it is
    /// called by its first words.
    pub titles: bool,
    /// Whether the next model of a list is asked also where one refuses a request for good, as one
    /// does with a wrong key. Otherwise the refusal is told, so that somebody sees to it.
    pub failover_on_refusal: bool,
    /// After this many failures in a row a provider is left alone for a while.
    pub breaker_failures: u32,
    /// For how long at first; each time that it fails again, twice as long.
    #[schemars(with = "String")]
    pub breaker_pause: Duration,
    /// For how long at most: an hour or less.
    #[schemars(with = "String")]
    pub breaker_max_pause: Duration,
    /// Providers of models, each under a name of your choice.
    pub providers: BTreeMap<String, ModelProviderConfig>,
    /// Models, each under the name by which agents call it.
    pub entries: BTreeMap<String, ModelEntryConfig>,
}

/// Section `[models.providers.NAME]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelProviderConfig {
    /// How it is spoken to. openai: as OpenAI, Ollama, llama.cpp, vLLM, LM Studio and OpenRouter.
    /// anthropic: as Anthropic.
    #[schemars(with = "String")]
    pub kind: ProviderKind,
    /// Its address, such as `https://api.openai.com/v1`, `https://api.anthropic.com`, or
    /// `http://127.0.0.1:11434/v1` for an Ollama on this machine. Another machine that is given a
    /// key needs https.
    pub base_url: String,
    /// Where its key is in the vault, such as global/openai after `palyra secrets set global/openai`;
    /// never the key itself. Empty: it needs none.
    pub api_key: String,
    /// How long making a connection may take.
    #[schemars(with = "String")]
    pub connect_timeout: Duration,
    /// How long nothing may come, before and within an answer.
    #[schemars(with = "String")]
    pub idle_timeout: Duration,
    /// How long an answer may take from beginning to end.
    #[schemars(with = "String")]
    pub timeout: Duration,
}

/// Section `[models.entries.NAME]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelEntryConfig {
    /// Its provider: a name from `models.providers`.
    pub provider: String,
    /// What the provider calls it. Empty: as the entry is called.
    pub model: String,
    /// How many tokens it can take, its answer included: agents are shown no more of a conversation.
    pub context_tokens: u32,
    /// How many tokens an answer may have.
    pub max_output_tokens: u32,
    /// What a million tokens cost to be read, in millionths of a US dollar: 2500000 is $2.50.
    /// Budgets count with it.
    pub input_price: u64,
    /// What a million tokens cost to be read from the cache of the provider.
    pub cached_input_price: u64,
    /// What a million tokens cost to be written.
    pub output_price: u64,
    /// Whether it can use tools. Without, it is offered none.
    pub tools: bool,
    /// Whether it can look at pictures. Without, it is told that there was one.
    pub images: bool,
    /// How soon it answers, compared with the others: fast, normal or slow.
    #[schemars(with = "String")]
    pub latency: ModelLatency,
}

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// `/chat/completions`.
    #[default]
    Openai,
    /// `/v1/messages`.
    Anthropic,
}

impl Default for ModelsConfig {
    fn default() -> Self {
        Self {
            default: vec![OFFLINE.into()],
            auxiliary: Vec::new(),
            titles: true,
            failover_on_refusal: false,
            breaker_failures: 3,
            breaker_pause: Duration::from_secs(10),
            breaker_max_pause: Duration::from_mins(5),
            providers: BTreeMap::new(),
            entries: BTreeMap::new(),
        }
    }
}

impl Default for ModelProviderConfig {
    fn default() -> Self {
        Self {
            kind: ProviderKind::default(),
            base_url: String::new(),
            api_key: String::new(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(2),
            timeout: Duration::from_mins(10),
        }
    }
}

impl Default for ModelEntryConfig {
    fn default() -> Self {
        Self {
            provider: String::new(),
            model: String::new(),
            context_tokens: 32_768,
            max_output_tokens: 4_096,
            input_price: 0,
            cached_input_price: 0,
            output_price: 0,
            tools: true,
            images: false,
            latency: ModelLatency::Normal,
        }
    }
}

impl ModelsConfig {
    /// Refuses values that cannot work.
    pub fn check(&self) -> Result<(), ModelError> {
        let refuse = |what: String| Err(ModelError::Misconfigured { what });
        let names = self.providers.keys().map(|name| ("providers", name));
        for (map, name) in names.chain(self.entries.keys().map(|name| ("entries", name))) {
            let wrong = match name.parse::<ModelName>() {
                Err(error) => error.to_string(),
                Ok(_) if name == OFFLINE => "that one is built in; choose another name".into(),
                Ok(_) => continue,
            };
            return refuse(format!("models.{map}.{name}: {wrong}"));
        }
        for (name, provider) in &self.providers {
            if let Err(what) = provider.check() {
                return refuse(format!("models.providers.{name}.{what}"));
            }
        }
        for (name, entry) in &self.entries {
            if let Err(what) = entry.check(&self.providers) {
                return refuse(format!("models.entries.{name}.{what}"));
            }
        }
        if self.default.is_empty() {
            return refuse("models.default names at least one model, such as offline".into());
        }
        let unknown = |name: &&String| *name != OFFLINE && !self.entries.contains_key(*name);
        if let Some(name) = self.default.iter().find(unknown) {
            return refuse(format!("models.default: there is no models.entries.{name}"));
        }
        if let Some(name) = self.auxiliary.iter().find(unknown) {
            return refuse(format!("models.auxiliary: there is no models.entries.{name}"));
        }
        let pauses = [self.breaker_pause, self.breaker_max_pause];
        if self.breaker_failures == 0
            || pauses.iter().any(|pause| !SECOND_TO_HOUR.contains(pause))
            || self.breaker_pause > self.breaker_max_pause
        {
            return refuse(
                "models.breaker_failures is at least 1, and models.breaker_pause and \
                 models.breaker_max_pause are from 1s to 1h, the first not above the second"
                    .into(),
            );
        }
        Ok(())
    }
}

const SECOND_TO_HOUR: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(1);

impl ModelProviderConfig {
    fn check(&self) -> Result<(), String> {
        self.address().map(|_| ())?;
        self.key().map(|_| ())?;
        let times = [self.connect_timeout, self.idle_timeout, self.timeout];
        if times.iter().any(|time| !SECOND_TO_HOUR.contains(time)) {
            return Err("connect_timeout, idle_timeout and timeout are from 1s to 1h".into());
        }
        Ok(())
    }

    /// Where it is. What is wrong is told without the text, which may hold a password.
    pub(crate) fn address(&self) -> Result<Url, String> {
        let url = Url::parse(&self.base_url).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.host_str().is_some_and(|h| !h.is_empty())
        });
        let Some(url) = url else {
            return Err("base_url is an address such as https://api.openai.com/v1".into());
        };
        let has_login = !url.username().is_empty() || url.password().is_some();
        if has_login || url.query().is_some() || url.fragment().is_some() {
            return Err("base_url has no user, password, query or fragment".into());
        }
        if url.scheme() == "http" && !self.api_key.is_empty() && !is_loopback(&url) {
            let what = "base_url is https where a key is sent to another machine";
            return Err(what.into());
        }
        Ok(url)
    }

    /// Where its key is, if it needs one.
    pub(crate) fn key(&self) -> Result<Option<SecretRef>, String> {
        match self.api_key.as_str() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|error| format!("api_key: {error}")),
        }
    }
}

impl ModelEntryConfig {
    fn check(&self, providers: &BTreeMap<String, ModelProviderConfig>) -> Result<(), String> {
        if !providers.contains_key(&self.provider) {
            return Err(format!("provider: there is no models.providers.{}", self.provider));
        }
        if self.max_output_tokens == 0 || self.max_output_tokens >= self.context_tokens {
            return Err("max_output_tokens is at least 1 and below context_tokens".into());
        }
        Ok(())
    }
}

/// Whether what is sent there stays on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let name = url.host_str().unwrap_or_default();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

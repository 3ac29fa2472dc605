use std::collections::BTreeMap;

use palyra_common::runtime_contracts::ModelLatency;
use palyra_common::time::{Clock, Timestamp};
use palyra_models::{
    ApiKey, ModelEntryConfig, ModelProviderConfig, ModelsConfig, SecretError, SecretRef,
    SecretSource,
};

use super::*;

struct NoKeys;

impl SecretSource for NoKeys {
    fn secret<'a>(&'a self, _: &'a SecretRef) -> BoxFuture<'a, Result<ApiKey, SecretError>> {
        unreachable!("nobody is asked here")
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn thinker(auxiliary: &[&str]) -> ModelThinker {
    let base_url = "http://127.0.0.1:1/v1".to_owned();
    let provider = ModelProviderConfig { base_url, ..ModelProviderConfig::default() };
    let entry = |price, latency, images| ModelEntryConfig {
        provider: "local".to_owned(),
        input_price: price,
        latency,
        images,
        ..ModelEntryConfig::default()
    };
    let entries = [
        ("large", entry(100, ModelLatency::Slow, true)),
        ("small", entry(10, ModelLatency::Normal, false)),
        ("quick", entry(50, ModelLatency::Fast, false)),
    ];
    let config = ModelsConfig {
        auxiliary: auxiliary.iter().map(|name| (*name).to_owned()).collect(),
        providers: BTreeMap::from([("local".to_owned(), provider)]),
        entries: entries.map(|(name, entry)| (name.to_owned(), entry)).into(),
        ..ModelsConfig::default()
    };
    let models = Models::new(&config, Arc::new(NoKeys), Arc::new(Still)).unwrap();
    ModelThinker::new(Arc::new(models))
}

/// A text goes to no provider that neither the agent nor the operator has named for it.
#[test]
fn a_side_call_goes_to_the_models_of_the_agent_and_those_for_it() {
    let check = |auxiliary: &[&str], own: &[&str], preference, expected: &[&str]| {
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(thinker(auxiliary).preferred(&own, preference), expected);
    };
    use AuxiliaryPreference::{LowCost, LowLatency, VisionCapable};
    check(&[], &["large"], LowCost, &["large"]);
    check(&["small"], &["large", "quick"], LowCost, &["small", "quick", "large"]);
    check(&["small"], &["large", "quick"], LowLatency, &["quick", "small", "large"]);
    check(&["small"], &["large", "quick"], VisionCapable, &["large"]);
    check(&["small"], &["quick"], VisionCapable, &[]);
    // The offline model follows no instructions.
    check(&[], &[], LowCost, &[]);
    check(&[], &["offline"], LowLatency, &[]);
}

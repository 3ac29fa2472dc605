use super::*;

fn provider(base_url: &str, api_key: &str) -> ModelProviderConfig {
    let (base_url, api_key) = (base_url.into(), api_key.into());
    ModelProviderConfig { base_url, api_key, ..ModelProviderConfig::default() }
}

fn told(change: impl FnOnce(&mut ModelsConfig)) -> String {
    let mut config = ModelsConfig::default();
    config.providers.insert("p".into(), provider("https://api.example/v1", "global/p"));
    let entry = ModelEntryConfig { provider: "p".into(), ..ModelEntryConfig::default() };
    config.entries.insert("e".into(), entry);
    config.check().unwrap();
    change(&mut config);
    config.check().map_or_else(|error| error.to_string(), |()| "fine".into())
}

#[test]
fn the_default_works() {
    ModelsConfig::default().check().unwrap();
}

#[test]
fn an_address_is_one_that_keeps_the_key_secret() {
    for (base_url, api_key, expected) in [
        ("https://api.example/v1/", "global/p", "fine"),
        ("http://127.0.0.1:11434/v1", "global/p", "fine"),
        ("http://[::1]:8080", "global/p", "fine"),
        ("http://localhost:8080", "global/p", "fine"),
        ("http://192.168.1.5:11434/v1", "", "fine"),
        ("http://192.168.1.5:11434/v1", "global/p", "base_url is https where"),
        ("http://127.0.0.1.evil.example/v1", "global/p", "base_url is https where"),
        ("", "", "base_url is an address"),
        ("api.example/v1", "", "base_url is an address"),
        ("file:///etc/passwd", "", "base_url is an address"),
        ("https://anna:geheim@api.example", "", "base_url has no user"),
        ("https://api.example/?key=geheim", "", "base_url has no user"),
    ] {
        let told = told(|config| {
            config.providers.insert("p".into(), provider(base_url, api_key));
        });
        assert!(told.contains(expected), "{base_url}: {told}");
        assert!(!told.contains("geheim"), "{told}");
    }
}

#[test]
fn a_key_is_named_and_never_written_down() {
    for wrong in ["sk-geheim", "global/", "/x", "a b/c", "global/a/b"] {
        let told = told(|config| {
            config.providers.insert("p".into(), provider("https://api.example", wrong));
        });
        assert!(told.starts_with("models.providers.p.api_key: a key is named by"), "{told}");
        assert!(!told.contains("geheim"), "{told}");
    }
}

#[test]
fn names_lead_to_what_there_is() {
    let entry = ModelEntryConfig { provider: "p".into(), ..ModelEntryConfig::default() };
    for name in ["offline", "a.b", "a b", ""] {
        let told = told(|config| drop(config.entries.insert(name.into(), entry.clone())));
        assert!(told.starts_with(&format!("models.entries.{name}: ")), "{told}");
    }
    let lost = told(|config| config.providers.clear());
    assert!(lost.contains("models.entries.e.provider: there is no models.providers.p"), "{lost}");
    let lost = told(|config| config.default = vec!["e".into(), "f".into()]);
    assert_eq!(lost, "models.default: there is no models.entries.f");
    assert!(told(|config| config.default.clear()).contains("names at least one"));
}

#[test]
fn numbers_are_within_bounds() {
    let entry = |change: fn(&mut ModelEntryConfig)| {
        told(|config| config.entries.values_mut().for_each(change))
    };
    assert!(entry(|entry| entry.max_output_tokens = 0).contains("is at least 1"));
    assert!(entry(|entry| entry.max_output_tokens = 32_768).contains("below context_tokens"));
    assert!(told(|config| config.breaker_failures = 0).contains("breaker_failures"));
    assert!(told(|config| config.breaker_max_pause = Duration::from_secs(9)).contains("above"));
    let hours = |config: &mut ModelsConfig| {
        config.providers.values_mut().for_each(|p| p.timeout = Duration::from_hours(2));
    };
    assert!(told(hours).contains("from 1s to 1h"));
}

use super::*;

const EXAMPLE: &str = include_str!("../../../../docs/palyra.example.toml");

#[test]
fn the_example_holds_the_defaults() {
    let uncommented: String = EXAMPLE
        .lines()
        .filter_map(|line| match line.strip_prefix("# ") {
            Some(option) if option.contains(" = ") => Some(format!("{option}\n")),
            Some(table) if table.starts_with('[') => Some(format!("{table}\n")),
            Some(_) => None,
            None => Some(format!("{line}\n")),
        })
        .collect();
    assert_eq!(toml::from_str::<Config>(&uncommented).unwrap(), options::specimen());
    assert_eq!(toml::from_str::<Config>(EXAMPLE).unwrap(), Config::default());
    assert_eq!(EXAMPLE, example(), "run `cargo xtask codegen`");
}

#[test]
fn every_option_says_what_it_is_for() {
    for option in options() {
        assert!(option.doc.len() > 20, "{option:?}");
        assert!(option.doc.ends_with('.'), "{option:?}");
    }
    let live = options().iter().filter(|option| option.is_live()).map(|option| &*option.key);
    let (models, others): (Vec<_>, Vec<_>) = live.partition(|key| key.starts_with("models."));
    assert_eq!(others, ["http.hosts", "telemetry.enabled", "log.level"]);
    let all = options().iter().filter(|option| option.key.starts_with("models."));
    assert_eq!(models.len(), all.count());
}

#[test]
fn the_nearest_option_is_named_if_one_is_near() {
    for (key, nearest) in [
        ("http.bnd", Some("http.bind")),
        ("htp.bind", Some("http.bind")),
        ("storage.quue", Some("storage.queue")),
        ("htpp", Some("http")),
        ("models.provider", Some("models.providers")),
        ("models.providers.local.base_ur", Some("models.providers.local.base_url")),
        ("models.entrys.NAME.tools", Some("models.entries.NAME.tools")),
        ("bind", None),
        ("x", None),
    ] {
        assert_eq!(options::nearest(key).as_deref(), nearest, "{key}");
    }
}

#[test]
fn an_unknown_option_is_refused_by_name() {
    let refused = told("[storage]\nurll = \"\"\n");
    assert!(
        refused.contains("storage.urll is not an option; did you mean storage.url?"),
        "{refused}"
    );
    let refused = told("[stroage]\n");
    assert!(refused.contains("stroage is not a section; did you mean storage?"), "{refused}");
}

#[test]
fn a_type_is_told_in_plain_words() {
    assert!(told("storage = 5\n").contains("expected a section, as in [name]"));
    assert!(told("[storage]\nqueue = \"x\"\n").contains("expected a whole number"));
    assert!(!told("[storage]\nurl = 4711\n").contains("4711"));
    let open = told("[storage]\nurl = \"postgres://a:geheim@h/x\n");
    assert!(open.contains("expected a quote") && !open.contains("geheim"), "{open}");
}

const MODELS: &str = "\
[models]
default = [\"small\"]
[models.providers.local]
base_url = \"http://127.0.0.1:11434/v1\"
[models.entries.small]
provider = \"local\"
";

fn taken(text: &str) -> Loaded {
    layered(&Given::default(), "palyra.toml".into(), text).unwrap()
}

#[test]
fn what_the_operator_names_has_options_of_its_own() {
    let loaded = taken(MODELS);
    assert_eq!(loaded.config.models.providers["local"].base_url, "http://127.0.0.1:11434/v1");
    let view = loaded.view();
    let shown = |key: &str| view.option(key).map(|of| (of.value.clone(), of.origin.clone()));
    let url = "http://127.0.0.1:11434/v1".into();
    assert_eq!(shown("models.providers.local.base_url"), Some((url, "file".into())));
    assert_eq!(shown("models.entries.small.tools"), Some((true.into(), "default".into())));
    assert_eq!(shown("models.entries.other.tools"), Some((true.into(), "default".into())));
    let pattern = view.option("models.providers.NAME.kind").unwrap();
    assert_eq!((pattern.value.as_str(), pattern.env.as_str()), (Some("openai"), ""));
    assert!(pattern.doc.contains("anthropic: as Anthropic"), "{}", pattern.doc);
    assert_eq!(view.option("models.providers.local.knd"), None);
}

#[test]
fn a_mistake_in_what_the_operator_names_is_told_with_the_nearest() {
    for (more, expected) in [
        (
            "[models.providers.local2]\nbase_ur = \"x\"",
            "models.providers.local2.base_ur is not an option; did you mean \
             models.providers.local2.base_url?",
        ),
        (
            "[models.provider.x]\n",
            "models.provider is not an option; did you mean models.providers?",
        ),
        ("[models.providers.\"a.b\"]\nkind = \"openai\"", "models.providers.a.b is not an option"),
        ("[models.providers.x]\n", "models.providers.x.base_url is an address"),
        ("[models.entries]\nx = 5\n", "expected a section, as in [name]"),
        ("[models.entries.x]\nprovider = \"y\"\n", "there is no models.providers.y"),
        ("[models.entries.offline]\nprovider = \"local\"\n", "that one is built in"),
        ("[models.entries.x]\ntools = 5\n", "expected a boolean"),
    ] {
        let told = told(&format!("{MODELS}{more}"));
        assert!(told.contains(expected), "{more}: {told}");
    }
}

#[test]
fn a_key_in_the_place_of_its_name_is_refused_and_not_repeated() {
    let told = told("[models.providers.x]\nbase_url = \"https://x\"\napi_key = \"sk-geheim\"\n");
    assert!(told.contains("api_key: a key is named by") && !told.contains("geheim"), "{told}");
}

fn after(text: &str, set: &[(&str, serde_json::Value)], unset: &[&str]) -> String {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let unset = unset.iter().map(|key| (*key).to_owned()).collect();
    let change = palyra_common::api::ConfigChange { set, unset };
    edited("palyra.toml".as_ref(), text, &change).unwrap().text
}

#[test]
fn what_the_operator_names_is_set_and_removed_like_the_rest() {
    let set = [
        ("models.providers.local.base_url", "http://127.0.0.1:11434/v1".into()),
        ("models.entries.small.provider", "local".into()),
        ("models.entries.small.context_tokens", 4_096.into()),
        ("models.entries.small.max_output_tokens", 512.into()),
    ];
    let text = after("# mine\n", &set, &[]);
    let config = taken(&text).config;
    assert_eq!(config.models.entries["small"].context_tokens, 4_096);
    assert!(text.contains("[models.providers.local]\n") && !text.contains("[models]"), "{text}");
    let braces = after("models = { default = [\"offline\"] }\n", &set, &[]);
    assert_eq!(taken(&braces).config.models, config.models);

    let text = after(&text, &[], &["models.entries.small"]);
    assert!(taken(&text).config.models.entries.is_empty());
    let text = after(&text, &[], &["models.providers.local.base_url"]);
    assert_eq!(*taken(&text).config, Config::default(), "{text}");
}

#[test]
fn what_is_set_to_what_it_was_agrees_with_it() {
    let loaded = |text: &str| layered(&Given::default(), "palyra.toml".into(), text).unwrap();
    let [first, second] = ["geheim-1", "geheim-2"].map(|password| {
        loaded(&format!("[storage]\nurl = \"postgres://anna:{password}@db/x\"\nqueue = 7\n"))
    });
    let same = loaded("[storage]\nurl = \"postgres://anna:geheim-1@db/x\"\nqueue = 8\n");
    assert!(first.agrees(&second, "storage.queue") && !first.agrees(&same, "storage.queue"));
    assert!(first.agrees(&same, "storage.url") && !first.agrees(&second, "storage.url"));
    assert!(!first.agrees(&second, "storage") && !first.agrees(&same, "storage"));
    let [old, new, again] = ["a", "b", "a"].map(|secret| {
        loaded(&format!("[vault]\nkey_command = [\"pass\", \"show\", \"{secret}\"]\n"))
    });
    assert!(old.agrees(&again, "vault.key_command") && old.agrees(&new, "vault.key_file"));
    assert!(!old.agrees(&new, "vault.key_command") && !old.agrees(&new, "vault"));
    let [bare, named] = ["", "[models.providers.mine]\nbase_url = \"http://h/v1\"\n"].map(loaded);
    let is_same = |key| bare.agrees(&named, key);
    assert!(!is_same("models.providers.mine") && !is_same("models.providers.mine.base_url"));
    assert!(is_same("models.providers.min") && is_same("http"));
}

fn told(text: &str) -> String {
    let file = PathBuf::from("palyra.toml");
    layered(&Given::default(), file, text).unwrap_err().to_string()
}

#[test]
fn a_mistake_is_told_by_its_place_and_never_by_what_is_written_there() {
    for (text, place) in [
        ("[storage]\nurl = \"postgres://anna:geheim@db/x\n", "line 2, column"),
        ("[storage]\nurl = postgres://anna:geheim@db/x\n", "line 2, column"),
        (
            "[storage]\nurll = \"postgres://anna:geheim@db/x\"\n",
            "line 2, column 1: storage.urll is not",
        ),
        ("[storage]\nqueue = \"postgres://anna:geheim@db/x\"\n", "line 2, column 9: invalid type"),
        ("\nstorage = \"ä\\\"postgres://anna:geheim@db\"\n", "line 2, column 11: invalid type"),
        ("[storage]\nlease_ttl = \"geheim\"\n", "line 2, column 13: "),
        ("[log]\nformat = \"geheim\"\n", "line 2, column 10: unknown variant, expected"),
        ("url = \"ä\", geheim = 1\n", "line 1, column 10: "),
    ] {
        let told = told(text);
        assert!(told.contains(place) && !told.contains("geheim"), "{text}: {told}");
        assert_eq!(told.lines().count(), 3, "{told}");
    }
}

/// It would do nothing, and whoever set it would rely on it.
#[test]
fn a_principal_has_no_more_places_than_there_are() {
    let refused = told("[http]\nmax_requests = 10\nmax_requests_per_principal = 11\n");
    let what = "http.max_requests_per_principal is at most http.max_requests, 10";
    assert!(refused.contains(what), "{refused}");
    let taken = |text| layered(&Given::default(), "palyra.toml".into(), text).unwrap().config;
    taken("[http]\nmax_requests = 10\nmax_requests_per_principal = 10\n");
    taken("[http]\nmax_requests = 10\nmax_requests_per_principal = 0\n");
    // Whoever sets the one alone has not asked for the other.
    assert_eq!(taken("[http]\nmax_requests = 10\n").http.max_requests_per_principal, 128);
}

#[test]
fn a_message_has_room_for_what_is_said_in_it() {
    for wrong in [0, 1, 65_535] {
        let refused = told(&format!("[grpc]\nmax_message_bytes = {wrong}\n"));
        assert!(refused.contains("grpc.max_message_bytes is at least 65536"), "{refused}");
    }
    layered(&Given::default(), "a".into(), "[grpc]\nmax_message_bytes = 65536\n").unwrap();
}

/// It would be compared as it is written, and match nothing.
#[test]
fn a_host_is_no_pattern() {
    for wrong in ["*.example.org", "*", "palyra.*:443"] {
        let refused = told(&format!("[http]\nhosts = [\"a.example\", \"{wrong}\"]\n"));
        assert!(refused.contains(wrong) && refused.contains("wildcard"), "{refused}");
        let refused = told(&format!("[http]\npublic_url = \"https://{wrong}\"\n"));
        assert!(refused.contains("http.public_url is"), "{refused}");
    }
}

#[test]
fn a_host_is_as_long_as_a_name_can_be() {
    let label = |length: usize| "a".repeat(length);
    let labels = |last: usize| [label(63), label(63), label(63), label(last)].join(".");
    for fits in [label(63), labels(61), format!("{}:443", labels(61)), "[::1]:80".to_owned()] {
        assert!(is_host(&fits), "{fits}");
    }
    for wrong in [label(64), labels(62), format!("a.{}:443", label(64)), label(60_000)] {
        let refused = told(&format!("[http]\nhosts = [\"{wrong}\"]\n"));
        assert!(refused.contains("http.hosts") && refused.contains("253"), "{refused}");
        assert!(refused.len() < 1_000, "it is not repeated as a whole: {refused}");
    }
}

/// Before anything is opened, and as a mistake in the configuration.
#[test]
fn a_url_that_can_never_work_is_refused() {
    for (url, why) in
        [("postgres://", "names no host"), ("postgres://a@db/x?sslmode=require", "sslmode")]
    {
        let refused = told(&format!("[storage]\nurl = \"{url}\"\n"));
        assert!(refused.contains("config/invalid") && refused.contains(why), "{refused}");
    }
}

#[test]
fn a_url_is_not_printed() {
    let url = "postgres://anna:geheim@db/x";
    let config: Config = toml::from_str(&format!("[storage]\nurl = \"{url}\"\n")).unwrap();
    let flags = [("storage.url", url.to_owned())].into();
    let given = Given { flags, ..Given::default() };
    let loaded = load(&given, std::path::Path::new("/nonexistent")).unwrap();
    assert_eq!(*loaded.config, config);
    let printed = format!("{config:?} {loaded:?} {}", toml::to_string(&config).unwrap());
    assert!(!printed.contains("geheim"), "{printed}");
}

/// It tells contents apart, and nobody learns by it whether they have guessed one.
#[test]
fn the_tag_of_a_file_is_of_one_process() {
    assert_eq!(tag(b"salt", "# a"), tag(b"salt", "# a"));
    assert_ne!(tag(b"salt", "# a"), tag(b"salt", "# b"));
    assert_ne!(tag(b"salt", "# a"), tag(b"other", "# a"));
}

use super::*;
use crate::tidy::workbench::lines;

const STORAGE: &str = r#"
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageConfig {
    /// Where the database is.
    pub url: Option<String>,
    #[serde(rename = "blobs_at", default = "blobs")]
    pub blob_url: String,
    #[serde(skip)]
    pub opened: bool,
    pub retention: RetentionConfig,
}

#[derive(Deserialize)]
pub struct RetentionConfig {
    pub max_age: Days,
}

pub struct NotAConfig {
    pub elsewhere: bool,
}
"#;

const EXAMPLE_TEXT: &str = "\
# How to configure Palyra. A line like this one is prose.

[storage]
# Where the database is.
# url = \"postgres://\"
blobs_at = \"blobs\"

# [storage.retention]
# max_age = 30
";

const CONFIG: &str = "crates/palyra-storage/src/config.rs";

fn check_both(config: &str, example: &str, expected: &[&str]) {
    let workspace = Workspace::empty().with_source(CONFIG, config).with_text(EXAMPLE, example);
    assert_eq!(lines(&check(&workspace)), expected);
}

#[test]
fn without_any_config_there_is_nothing_to_say() {
    assert_eq!(check(&Workspace::empty()), []);
}

#[test]
fn an_example_with_every_option_is_complete() {
    check_both(STORAGE, EXAMPLE_TEXT, &[]);
}

#[test]
fn an_option_that_the_example_lacks_is_named() {
    check_both(
        STORAGE,
        &EXAMPLE_TEXT.replace("# max_age = 30", "# nothing to set"),
        &["crates/palyra-storage/src/config.rs:16: option storage.retention.max_age is not in \
           docs/palyra.example.toml"],
    );
    let without_example = Workspace::empty().with_source(CONFIG, STORAGE);
    assert_eq!(check(&without_example).len(), 3);
}

#[test]
fn an_option_in_the_wrong_section_is_missing_and_unknown() {
    check_both(
        STORAGE,
        &EXAMPLE_TEXT.replace("# [storage.retention]\n", ""),
        &[
            "crates/palyra-storage/src/config.rs:16: option storage.retention.max_age is not in \
             docs/palyra.example.toml",
            "docs/palyra.example.toml:8: storage.max_age is not an option",
        ],
    );
}

#[test]
fn a_key_that_is_no_option_is_named() {
    check_both(
        STORAGE,
        &format!("{EXAMPLE_TEXT}# opened = true\n"),
        &["docs/palyra.example.toml:10: storage.retention.opened is not an option"],
    );
}

#[test]
fn the_root_holds_sections_and_keys_of_its_own() {
    let config = "
#[derive(Deserialize)]
struct Config { profile: Profile, storage: StoreConfig, nodes: Vec<NodeConfig>,
    models: BTreeMap<String, ModelConfig>, #[serde(flatten)] log: LogConfig }
#[derive(Deserialize)]
struct StoreConfig { url: String, labels: BTreeMap<String, String> }
#[derive(Deserialize)]
struct NodeConfig { name: String }
#[derive(Deserialize)]
struct ModelConfig { key: String }
#[derive(Deserialize)]
struct LogConfig { level: String }
";
    let example = "
profile = \"local\"
level = \"info\"
[storage]
url = \"x\"
labels = {}
[storage.labels]
team = \"blue\"
[[nodes]]
name = \"a\"
# [models.small]
# key = \"x\"
";
    check_both(config, example, &[]);
    check_both(
        config,
        &example
            .replace("[storage]\nurl", "[store]\nurl")
            .replace("labels = {}\n", "")
            .replace("[storage.labels]\nteam", "[storage]\nlabels"),
        &[
            "crates/palyra-storage/src/config.rs:6: option storage.url is not in \
             docs/palyra.example.toml",
            "docs/palyra.example.toml:5: store.url is not an option",
        ],
    );
}

#[test]
fn a_section_name_is_taken_once() {
    let twice = "
#[derive(Deserialize)] struct StorageConfig { url: String }
#[derive(Deserialize)] struct StorageConfig { url: String }
";
    check_both(
        twice,
        "[storage]\nurl = 'x'\n",
        &["crates/palyra-storage/src/config.rs:3: a second section is named StorageConfig"],
    );
}

#[test]
fn longer_names_become_snake_case() {
    check_both(
        "#[derive(Deserialize)] struct BlobStoreConfig { url: u8 }",
        "[blob_store]\nurl = 1\n",
        &[],
    );
}

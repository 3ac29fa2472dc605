use super::*;

const EXAMPLE: &str = include_str!("../../../../docs/palyra.example.toml");

#[test]
fn the_example_holds_the_defaults() {
    let uncommented: String = EXAMPLE
        .lines()
        .filter_map(|line| match line.strip_prefix("# ") {
            Some(option) if option.contains(" = ") => Some(format!("{option}\n")),
            Some(_) => None,
            None => Some(format!("{line}\n")),
        })
        .collect();
    assert_eq!(toml::from_str::<Config>(&uncommented).unwrap(), Config::default());
    assert_eq!(toml::from_str::<Config>(EXAMPLE).unwrap(), Config::default());
}

#[test]
fn an_unknown_option_is_refused_by_name() {
    let refused = toml::from_str::<Config>("[storage]\nurll = \"\"\n").unwrap_err();
    assert!(refused.to_string().contains("urll"), "{refused}");
}

fn told(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("palyra.toml");
    std::fs::write(&file, text).unwrap();
    read(&file).unwrap_err().to_string()
}

#[test]
fn a_mistake_is_told_by_its_place_and_never_by_what_is_written_there() {
    for (text, place) in [
        ("[storage]\nurl = \"postgres://anna:geheim@db/x\n", "line 2, column"),
        ("[storage]\nurl = postgres://anna:geheim@db/x\n", "line 2, column"),
        ("[storage]\nurll = \"postgres://anna:geheim@db/x\"\n", "line 2, column 1: unknown"),
        ("[storage]\nqueue = \"postgres://anna:geheim@db/x\"\n", "line 2, column 9: invalid type"),
        ("\nstorage = \"ä\\\"postgres://anna:geheim@db\"\n", "line 2, column 11: invalid type"),
        ("[storage]\nlease_ttl = \"geheim\"\n", "line 2, column 13: "),
        ("url = \"ä\", geheim = 1\n", "line 1, column 10: "),
    ] {
        let told = told(text);
        assert!(told.contains(place) && !told.contains("geheim"), "{text}: {told}");
        assert_eq!(told.lines().count(), 3, "{told}");
    }
}

#[test]
fn a_url_is_not_printed() {
    let url = "postgres://anna:geheim@db/x";
    let config: Config = toml::from_str(&format!("[storage]\nurl = \"{url}\"\n")).unwrap();
    let flags = <Flags as clap::Parser>::parse_from(["palyrad", "--storage-url", url]);
    let printed = format!("{config:?} {flags:?}");
    assert!(!printed.contains("geheim"), "{printed}");
    assert_eq!(load(&flags, Path::new("/nonexistent")).unwrap(), config);
}

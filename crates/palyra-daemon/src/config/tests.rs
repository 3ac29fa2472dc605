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

//! The configuration, with and without a daemon.

use crate::world::World;

#[test]
fn an_option_is_set_got_explained_and_unset_without_a_daemon() {
    changes(&World::new());
}

#[test]
fn an_option_is_set_got_explained_and_unset_with_a_daemon() {
    let world = World::new();
    let _daemon = world.palyrad();
    changes(&world);
}

fn changes(world: &World) {
    let get = || world.palyra(&["config", "get", "log.level"]).expect(0).out;
    assert_eq!(get(), "info\n");
    let changed = world.palyra(&["config", "set", "log.level", "warn", "--json"]).expect(0).json();
    assert!(changed["file"].as_str().unwrap().ends_with("palyra.toml"), "{changed}");
    assert_eq!(get(), "warn\n");
    let told = world.palyra(&["config", "explain", "log.level"]).expect(0).out;
    assert!(told.contains("palyra.toml") && told.contains("PALYRA_LOG_LEVEL"), "{told}");
    let shown = world.palyra(&["config", "show", "--changed", "--json"]).expect(0).json();
    let keys: Vec<_> = shown["options"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert!(keys.contains(&&"log.level".into()), "{keys:?}");
    world.palyra(&["config", "unset", "log.level"]).expect(0);
    assert_eq!(get(), "info\n");
    let missing = world.palyra(&["config", "get", "log.levle", "--json"]).expect(5);
    assert_eq!(missing.error_code(), "common/not_found");
}

#[test]
fn a_value_that_cannot_be_used_is_refused_and_not_written() {
    let world = World::new();
    world.palyra(&["config", "set", "http.bind", "nowhere"]).expect(2);
    let _daemon = world.palyrad();
    world.palyra(&["config", "set", "http.bind", "nowhere"]).expect(2);
    assert!(!world.data_dir().join("palyra.toml").exists());
}

#[test]
fn a_file_is_checked_without_being_used() {
    let world = World::new();
    std::fs::write(world.home().join("good.toml"), "[log]\nlevel = \"warn\"\n").unwrap();
    std::fs::write(world.home().join("bad.toml"), "[log]\nlevle = \"warn\"\n").unwrap();
    world.palyra(&["config", "validate", "good.toml"]).expect(0);
    world.palyra(&["config", "validate"]).expect(0);
    let refused = world.palyra(&["config", "validate", "bad.toml", "--json"]).expect(2);
    assert!(refused.error_code().starts_with("config/"), "{refused:?}");
}

//! Values go in by standard input or a hidden prompt, and never come out.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::terminal::Terminal;
use crate::world::World;

const VALUE: &str = "geheim-8161-wort";

#[test]
fn a_value_is_never_printed() {
    let world = World::new();
    let daemon = world.palyrad();
    let line = format!("{VALUE}\n");
    let set = world.palyra_reading(&["secrets", "set", "openai"], line.as_bytes()).expect(0);
    let again =
        world.palyra_reading(&["secrets", "set", "openai", "--json"], line.as_bytes()).expect(0);
    assert_eq!(again.json()["version"], 2);
    let list = world.palyra(&["secrets", "list"]).expect(0);
    let audit = world.palyra(&["audit", "list", "--json"]).expect(0);
    for ran in [&set, &again, &list, &audit] {
        assert!(!format!("{ran:?}").contains(VALUE), "{ran:?}");
    }
    assert!(!daemon.logs().contains(VALUE));
}

#[test]
fn a_value_is_no_argument() {
    let world = World::new();
    for arguments in [
        &["secrets", "set", "openai", VALUE][..],
        &["secrets", "set", "openai", "--value", VALUE],
        &["secrets", "set", "openai", "--json", VALUE],
        &["--host", "https://anna:geheim-8161-wort@palyra.example", "status"],
    ] {
        let refused = world.palyra(arguments).expect(2);
        assert!(!format!("{refused:?}").contains(VALUE), "{refused:?}");
    }
}

#[test]
fn an_empty_or_too_large_value_is_refused() {
    let world = World::new();
    let _daemon = world.palyrad();
    for value in [vec![], b"\n".to_vec(), vec![b'x'; (64 << 10) + 1], vec![0xff, 0xfe]] {
        let refused = world.palyra_reading(&["secrets", "set", "openai", "--json"], &value);
        assert_eq!(refused.expect(2).error_code(), "common/invalid_input");
    }
    let largest = [&vec![b'x'; 64 << 10][..], b"\n"].concat();
    world.palyra_reading(&["secrets", "set", "openai"], &largest).expect(0);
}

#[test]
fn a_secret_that_is_not_there_is_not_found() {
    let world = World::new();
    let _daemon = world.palyrad();
    let missing = world.palyra(&["secrets", "delete", "nothing", "--yes", "--json"]).expect(5);
    assert_eq!(missing.error_code(), "common/not_found");
}

#[test]
fn the_master_key_is_changed_and_secrets_stay() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "openai"], VALUE.as_bytes()).expect(0);
    world.palyra(&["secrets", "rotate-master"]).expect(2);
    let rotated = world.palyra(&["secrets", "rotate-master", "--yes", "--json"]).expect(0).json();
    assert_eq!(rotated["rewrapped"], 1);
    let (file, id) =
        (rotated["key_file"].as_str().unwrap(), rotated["old_key_id"].as_str().unwrap());
    assert_eq!(rotated["old_key_file"], format!("{file}.{id}"));
    assert!(std::path::Path::new(&format!("{file}.{id}")).is_file());
    let told = world.palyra(&["secrets", "rotate-master", "--yes"]).expect(0).out;
    let old = rotated["key_id"].as_str().unwrap();
    assert!(told.contains(&format!("The old key {old} is kept in {file}.{old}")), "{told}");
    let listed = world.palyra(&["secrets", "list", "--json"]).expect(0).json();
    assert_eq!(listed["items"][0]["name"], "openai");
}

/// What `stty` says of a terminal that shows what is typed and acts on Ctrl-C.
fn is_as_before(seen: &str) -> bool {
    let words: Vec<_> = seen.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
    ["echo", "icanon", "isig"].iter().all(|mode| words.contains(mode))
}

#[test]
fn a_typed_value_is_not_shown_and_the_terminal_is_put_back() {
    let world = World::new();
    let _daemon = world.palyrad();
    let mut terminal = Terminal::open(&world, "secrets set openai");
    let seen = terminal.wait_for("Value of").keys(&format!("{VALUE}\r")).end();
    assert!(seen.contains("code=0") && seen.contains("stored as version 1"), "{seen}");
    assert!(!seen.contains(VALUE), "{seen}");
    assert!(is_as_before(&seen), "{seen}");
}

#[test]
fn pasted_lines_are_refused_at_the_prompt() {
    let world = World::new();
    let _daemon = world.palyrad();
    let mut terminal = Terminal::open(&world, "secrets set openai");
    let seen = terminal.wait_for("Value of").keys("first line\rsecond line\r").end();
    assert!(seen.contains("code=2") && seen.contains("several lines"), "{seen}");
    assert!(!seen.contains("first line") && !seen.contains("second line"), "{seen}");
    assert!(is_as_before(&seen), "{seen}");
    assert!(world.palyra(&["secrets", "list"]).expect(0).out.contains("no secret"));
}

#[test]
fn control_c_at_the_prompt_puts_the_terminal_back() {
    let world = World::new();
    let _daemon = world.palyrad();
    let mut terminal = Terminal::open(&world, "secrets set openai");
    let seen = terminal.wait_for("Value of").keys("geh\x03").end();
    assert!(seen.contains("code=130"), "{seen}");
    assert!(is_as_before(&seen), "{seen}");
    assert!(world.palyra(&["secrets", "list"]).expect(0).out.contains("no secret"));
}

#[test]
fn every_page_of_secrets_is_listed() {
    let world = World::new();
    let _daemon = world.palyrad();
    // One more than a page has.
    for number in 0..=200 {
        store(&world, &format!("key-{number:03}"));
    }
    let listed = world.palyra(&["secrets", "list", "--json"]).expect(0).json();
    let items = listed["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[200]["name"]), (201, &"key-200".into()));
    assert!(listed.get("next").is_none(), "{listed}");
}

/// Without a process for each.
fn store(world: &World, name: &str) {
    let mut stream = UnixStream::connect(world.data_dir().join("palyra.sock")).unwrap();
    let body = format!(r#"{{"value": "{VALUE}"}}"#);
    let ask = format!(
        "PUT /admin/v1/secrets/global/{name} HTTP/1.1\r\nHost: palyra\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

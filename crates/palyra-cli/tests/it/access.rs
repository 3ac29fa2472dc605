//! Tokens, and what they open.

use std::os::unix::fs::PermissionsExt;

use crate::world::{World, ran};

fn token(world: &World, scope: &str) -> (String, String) {
    let arguments = ["auth", "tokens", "create", "test", "--scope", scope, "--json"];
    let created = world.palyra(&arguments).expect(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (text(&created["token"]["id"]), text(&created["secret"]))
}

#[test]
fn a_token_opens_what_its_scopes_allow_and_nothing_after_it_is_revoked() {
    let world = World::new();
    let _daemon = world.palyrad();
    let host = world.host();
    let (id, secret) = token(&world, "status:read");
    let file = world.home().join("token");
    std::fs::write(&file, format!("{secret}\n")).unwrap();
    let remote = ["--json", "--host", &host, "--token-file", file.to_str().unwrap()];

    let status = world.palyra(&[&remote[..], &["status"]].concat()).expect(0).json();
    assert_eq!(status["ready"], true);
    let who = world.palyra(&[&remote[..], &["auth", "whoami"]].concat()).expect(0).json();
    assert_eq!(who["credential"], "token");
    let refused = world.palyra(&[&remote[..], &["audit", "list"]].concat()).expect(4);
    assert_eq!(refused.error_code(), "auth/forbidden");

    world.palyra(&["auth", "tokens", "revoke", &id, "--yes"]).expect(0);
    let revoked = world.palyra(&[&remote[..], &["status"]].concat()).expect(4);
    assert!(revoked.error_code().starts_with("auth/"), "{revoked:?}");
    world.palyra(&["auth", "tokens", "revoke", &id, "--yes"]).expect(0);
}

#[test]
fn a_token_comes_from_the_environment_too() {
    let world = World::new();
    let _daemon = world.palyrad();
    let (_, secret) = token(&world, "status:read");
    let host = world.host();
    let arguments = ["--json", "--host", &host, "auth", "whoami"];
    ran(world.command(&arguments).env("PALYRA_TOKEN", &secret)).expect(0);
    assert_eq!(world.palyra(&arguments).expect(4).error_code(), "auth/required");
    let unknown = format!("{}xx", &secret[..secret.len() - 2]);
    let refused = ran(world.command(&arguments).env("PALYRA_TOKEN", &unknown)).expect(4);
    assert!(!refused.err.contains(&secret[..12]), "{refused:?}");
}

#[test]
fn a_token_that_does_not_exist_is_not_found() {
    let world = World::new();
    let _daemon = world.palyrad();
    let arguments = ["--json", "auth", "tokens", "revoke", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--yes"];
    assert_eq!(world.palyra(&arguments).expect(5).error_code(), "common/not_found");
}

#[test]
fn the_secret_of_a_new_token_is_alone_on_standard_output() {
    let world = World::new();
    let _daemon = world.palyrad();
    let arguments = ["auth", "tokens", "create", "x", "--scope", "status:read", "--expires", "1d"];
    let created = world.palyra(&arguments).expect(0);
    assert!(created.out.starts_with("ply_") && created.out.lines().count() == 1, "{created:?}");
    let listed = world.palyra(&["auth", "tokens", "list"]).expect(0).out;
    assert!(!listed.contains(created.out.trim()), "{listed}");
}

#[test]
fn the_doctor_takes_permissions_away_from_others() {
    let world = World::new();
    let _daemon = world.palyrad();
    let data_dir = world.data_dir();
    std::fs::set_permissions(&data_dir, PermissionsExt::from_mode(0o755)).unwrap();
    let fixed = world.palyra(&["doctor", "--fix", "--json"]).json();
    assert_eq!(fixed["fixed"], serde_json::json!(["data_directory_private"]));
    let mode = std::fs::metadata(&data_dir).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn pages_of_the_audit_trail_go_on_where_they_ended() {
    let world = World::new();
    let _daemon = world.palyrad();
    for _ in 0..3 {
        token(&world, "status:read");
    }
    let list = |more: &[&str]| {
        let arguments = [&["audit", "list", "--action", "token.", "--json"][..], more].concat();
        world.palyra(&arguments).expect(0).json()
    };
    let all = list(&[]);
    let items = all["items"].as_array().unwrap();
    assert!(items.len() >= 3, "{all:#}");
    let first = list(&["--limit", "1"]);
    assert_eq!(first["items"][0], items[0]);
    let rest = list(&["--after", first["next"].as_str().unwrap()]);
    assert_eq!(rest["items"].as_array().unwrap()[..], items[1..]);
    let oldest = list(&["--oldest-first", "--limit", "1"]);
    assert_eq!(oldest["items"][0], items[items.len() - 1]);
    assert_eq!(list(&["--until", "1d"])["items"], serde_json::json!([]));
}

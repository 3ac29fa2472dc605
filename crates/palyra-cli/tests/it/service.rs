//! The unit of systemd, with and without a systemd to talk to.

use std::os::unix::fs::PermissionsExt;

use crate::world::{World, palyrad};

#[test]
fn the_unit_is_written_and_what_was_not_done_is_told() {
    let world = World::new();
    let installed = world.palyra(&["daemon", "install", "--no-start", "--json"]).expect(1).json();
    let unit = world.home().join(".config/systemd/user/palyra.service");
    assert_eq!(installed["unit"], unit.to_str().unwrap());
    assert_eq!((&installed["started"], &installed["enabled"]), (&false.into(), &false.into()));
    let not_done = installed["not_done"].as_array().unwrap();
    let told = |what: &str| not_done.iter().any(|it| it.as_str().unwrap().contains(what));
    assert!(told("systemctl --user enable"), "{installed}");
    let text = std::fs::read_to_string(&unit).unwrap();
    let program = palyrad().canonicalize().unwrap();
    assert!(text.contains(&format!("ExecStart=\"{}\" --data-dir", program.display())), "{text}");
    assert!(text.contains("NoNewPrivileges=yes\n"), "{text}");
    assert!(text.contains("ProtectSystem=strict\n"), "{text}");

    world.palyra(&["daemon", "install", "--no-start"]).expect(1);
    world.palyra(&["daemon", "uninstall"]).expect(2);
    world.palyra(&["daemon", "uninstall", "--yes"]).expect(1);
    assert!(!unit.exists());
    let gone = world.palyra(&["daemon", "uninstall", "--yes", "--json"]).expect(5);
    assert_eq!(gone.error_code(), "common/not_found");
    assert!(gone.err.contains("there is no service to uninstall"), "{gone:?}");
}

#[test]
fn systemd_is_told_where_it_answers() {
    let world = World::new();
    // Stands for systemctl: it writes down how it was called.
    let calls = world.home().join("calls");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", calls.display());
    std::fs::create_dir(world.programs()).unwrap();
    std::fs::write(world.programs().join("systemctl"), script).unwrap();
    let executable = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.programs().join("systemctl"), executable).unwrap();

    let installed = world.palyra(&["daemon", "install", "--json"]).expect(0).json();
    assert_eq!((&installed["started"], &installed["enabled"]), (&true.into(), &true.into()));
    assert_eq!(installed["not_done"], serde_json::json!([]));
    let uninstalled = world.palyra(&["daemon", "uninstall", "--yes", "--json"]).expect(0).json();
    assert_eq!(uninstalled["stopped"], true);
    let called = std::fs::read_to_string(&calls).unwrap();
    let expected = [
        "--user daemon-reload",
        "--user enable palyra.service",
        "--user restart palyra.service",
        "--user disable --now palyra.service",
        "--user daemon-reload",
    ];
    assert_eq!(called.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_path_that_would_begin_another_setting_is_refused() {
    let world = World::new();
    let strange = world.home().join("x\nExecStart=/bin/false");
    let arguments = ["--data-dir", strange.to_str().unwrap(), "daemon", "install", "--no-start"];
    world.palyra(&arguments).expect(2);
    assert!(!world.home().join(".config").exists());
}

fn foreign_unit(world: &World, program: &str) -> std::path::PathBuf {
    let folder = world.home().join(".config/systemd/user");
    std::fs::create_dir_all(&folder).unwrap();
    let unit = folder.join("palyra.service");
    std::fs::write(&unit, format!("[Service]\nExecStart={program}\n")).unwrap();
    unit
}

#[test]
fn a_unit_of_somebody_else_is_not_replaced_unasked() {
    let world = World::new();
    let unit = foreign_unit(&world, "/bin/true");
    world.palyra(&["daemon", "install"]).expect(2);
    assert!(std::fs::read_to_string(&unit).unwrap().contains("/bin/true"));
    world.palyra(&["daemon", "install", "--no-start", "--yes"]).expect(1);
    assert!(!std::fs::read_to_string(&unit).unwrap().contains("/bin/true"));
}

#[test]
fn the_doctor_sees_a_unit_whose_program_is_gone() {
    let world = World::new();
    foreign_unit(&world, "/gone/palyrad");
    let report = world.palyra(&["doctor", "--json"]).expect(7).json();
    let checks = report["checks"].as_array().unwrap();
    let service = checks.iter().find(|check| check["name"] == "service").unwrap();
    assert_eq!(service["state"], "failed", "{report:#}");
}

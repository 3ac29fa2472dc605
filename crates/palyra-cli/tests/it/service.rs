//! The unit of systemd, with and without a systemd to talk to.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::world::{Background, FREE_PORTS, World, palyrad, ran, until};

#[test]
fn the_unit_is_written_and_what_was_not_done_is_told() {
    let world = World::new();
    let installed = world.palyra(&["daemon", "install", "--no-start", "--json"]).expect(1).json();
    let unit = unit_of(&world);
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
    // systemd starts nothing that is confined to what is not there.
    for folder in [world.data_dir(), world.home().join(".config/palyra")] {
        assert!(text.contains(&format!("\"{}\"", folder.display())), "{text}");
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    world.palyra(&["daemon", "install", "--no-start"]).expect(1);
    world.palyra(&["daemon", "uninstall"]).expect(2);
    world.palyra(&["daemon", "uninstall", "--yes"]).expect(1);
    assert!(!unit.exists());
    let gone = world.palyra(&["daemon", "uninstall", "--yes", "--json"]).expect(5);
    assert_eq!(gone.error_code(), "common/not_found");
    assert!(gone.err.contains("there is no service to uninstall"), "{gone:?}");
}

/// systemd would start a second one again and again.
#[test]
fn a_daemon_that_was_started_otherwise_is_not_made_a_service() {
    let world = World::new();
    let daemon = world.palyrad();
    let refused = world.palyra(&["daemon", "install", "--no-start", "--json"]).expect(6);
    let told = format!("a daemon runs already as process {}; stop it first", daemon.id());
    assert!(refused.err.contains(&told), "{refused:?}");
    assert!(!unit_of(&world).exists());
}

/// Where the unit of the world's data directory is: it has the path in its name.
fn unit_of(world: &World) -> std::path::PathBuf {
    let letter = |c: char| match c {
        '/' => "-".to_owned(),
        c if c.is_ascii_alphanumeric() || c == '.' => c.to_string(),
        c => format!("_{:02x}", u32::from(c)),
    };
    let path: String = world.data_dir().to_str().unwrap().chars().map(letter).collect();
    world.home().join(format!(".config/systemd/user/palyra{path}.service"))
}

/// Stands for systemctl.
fn systemctl(world: &World, script: &str) {
    std::fs::create_dir(world.programs()).unwrap();
    let path = world.programs().join("systemctl");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn each_data_directory_has_its_own_service() {
    let world = World::new();
    let usual = |arguments: &[&str]| ran(world.command(arguments).env_remove("PALYRA_DATA_DIR"));
    usual(&["daemon", "install", "--no-start"]).expect(1);
    let units = world.home().join(".config/systemd/user");
    let first = std::fs::read_to_string(units.join("palyra.service")).unwrap();
    assert!(first.contains(".local/share/palyra\""), "{first}");
    assert!(world.palyra(&["daemon", "status", "--json"]).expect(3).json()["unit"].is_null());
    world.palyra(&["daemon", "uninstall", "--yes"]).expect(5);
    world.palyra(&["daemon", "install", "--no-start"]).expect(1);
    assert_eq!(std::fs::read_to_string(units.join("palyra.service")).unwrap(), first);
    world.palyra(&["daemon", "uninstall", "--yes"]).expect(1);
    assert_eq!(std::fs::read_to_string(units.join("palyra.service")).unwrap(), first);
    assert!(!unit_of(&world).exists());
}

#[test]
fn a_unit_of_an_earlier_version_is_not_taken_from_its_directory() {
    let world = World::new();
    let other = format!("/bin/palyrad --data-dir \"{}\"", world.data_dir().display());
    let unit = foreign_unit(&world, &other);
    let before = std::fs::read_to_string(&unit).unwrap();
    let usual = |arguments: &[&str]| ran(world.command(arguments).env_remove("PALYRA_DATA_DIR"));
    let refused = usual(&["daemon", "install", "--no-start", "--yes", "--json"]).expect(6);
    assert!(refused.err.contains("daemon uninstall"), "{refused:?}");
    usual(&["daemon", "uninstall", "--yes"]).expect(5);
    assert_eq!(std::fs::read_to_string(&unit).unwrap(), before);
    world.palyra(&["daemon", "uninstall", "--yes"]).expect(1);
    assert!(!unit.exists());
}

/// A systemd that takes its time: what runs goes on for a second after it was told, and what it
/// starts comes up a second later.
fn slow_systemd(world: &World) {
    let script = format!(
        "#!/bin/sh
PATH=/usr/bin:/bin
state='{home}'
case \"$2\" in
  show) [ \"$3\" = --property=MainPID ] && cat \"$state/main\" 2>/dev/null ;;
  start|restart)
    (sleep 1; [ -f \"$state/main\" ] && kill \"$(cat \"$state/main\")\" && rm \"$state/main\" && sleep 1
     '{palyrad}' --data-dir '{data}' {ports} >/dev/null 2>&1 & echo $! > \"$state/main\") \
      >/dev/null 2>&1 </dev/null & ;;
  stop) kill \"$(cat \"$state/main\")\" ;;
esac
exit 0
",
        home = world.home().display(),
        palyrad = palyrad().display(),
        data = world.data_dir().display(),
        ports = FREE_PORTS.join(" "),
    );
    systemctl(world, &script);
}

#[test]
fn what_systemd_starts_is_waited_for() {
    let world = World::new();
    slow_systemd(&world);
    let _background = Background(&world);
    let installed = world.palyra(&["daemon", "install", "--json"]).expect(0).json();
    assert_eq!((&installed["started"], &installed["ready"]), (&true.into(), &true.into()));
    let main = || std::fs::read_to_string(world.home().join("main")).unwrap();
    let status = world.palyra(&["status", "--json"]).expect(0).json();
    assert_eq!(status["pid"].to_string(), main().trim(), "systemd runs it");
    world.palyra(&["daemon", "stop"]).expect(0);
    let started = world.palyra(&["daemon", "start", "--json"]).expect(0).json();
    assert_eq!(started["ready"], true, "{started}");
    assert_eq!(started["pid"].to_string(), main().trim(), "systemd runs it");
    let again = world.palyra(&["daemon", "restart", "--json"]).expect(0).json();
    assert_eq!((&again["ready"], &again["stopped"]), (&true.into(), &started["pid"]));
    assert_eq!(again["pid"].to_string(), main().trim());
    assert_ne!(again["pid"], started["pid"], "the one before is not taken for the new one");
}

/// Stands for a daemon that hangs: a process that is called as palyrad is and ignores SIGTERM. It
/// ends with the test.
struct Deaf(Child);

impl Deaf {
    fn start(world: &World) -> Self {
        let program = world.home().join("palyrad");
        std::fs::copy("/bin/sh", &program).unwrap();
        let mut command = Command::new(&program);
        // Where one program is many, its name says which one it is to be.
        command.arg0("sh").args(["-c", "trap '' TERM; echo deaf; read line"]);
        command.env_clear().env("PALYRA_DATA_DIR", world.data_dir()).current_dir(world.home());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
        Self(child)
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// systemd waits for as long as the unit says, and may not answer at all.
#[test]
fn a_service_that_hangs_is_killed_after_the_time_that_was_asked_for() {
    let world = World::new();
    world.palyra(&["daemon", "install", "--no-start"]).expect(1);
    let (main, mute) = (world.home().join("main"), world.home().join("mute"));
    let waited = world.home().join("waited");
    // Stands for a systemd that stops nothing; with the file `mute` it does not even answer.
    let script = format!(
        "#!/bin/sh
case \"$2 $3\" in
  'show --property=MainPID') read -r main < '{main}'; echo \"$main\" ;;
  stop*) [ \"$3\" = --no-block ] || echo \"$@\" >> '{waited}'
    [ ! -e '{mute}' ] || {{ echo 'Failed to connect to bus' >&2; exit 1; }} ;;
esac
",
        main = main.display(),
        mute = mute.display(),
        waited = waited.display(),
    );
    systemctl(&world, &script);
    let start = || {
        let deaf = Deaf::start(&world);
        std::fs::write(&main, format!("{}\n", deaf.0.id())).unwrap();
        deaf
    };
    let force = ["daemon", "stop", "--force", "--wait", "0", "--json"];

    let mut deaf = start();
    let refused = world.palyra(&["daemon", "stop", "--wait", "0", "--json"]).expect(6);
    assert!(refused.err.contains("still runs after 0 s"), "{refused:?}");
    assert!(deaf.runs());
    assert_eq!(world.palyra(&force).expect(0).json()["pid"], deaf.0.id());
    assert!(!deaf.runs());
    drop(deaf);

    let mut deaf = start();
    std::fs::write(&mute, "").unwrap();
    let refused = world.palyra(&["daemon", "stop", "--wait", "0", "--json"]).expect(1);
    assert!(refused.err.contains("Failed to connect to bus"), "{refused:?}");
    assert!(deaf.runs());
    assert_eq!(world.palyra(&force).expect(0).json()["pid"], deaf.0.id());
    assert!(!deaf.runs());
    assert!(!waited.exists(), "nobody waits for systemd");
}

#[test]
fn systemd_is_told_where_it_answers() {
    let world = World::new();
    // Stands for systemctl: it writes down how it was called.
    let calls = world.home().join("calls");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", calls.display());
    systemctl(&world, &script);
    let unit = unit_of(&world);
    let unit = unit.file_name().unwrap().to_str().unwrap();

    let install = ["daemon", "install", "--wait", "0", "--json"];
    let installed = world.palyra(&install).expect(1).json();
    assert_eq!((&installed["started"], &installed["enabled"]), (&true.into(), &true.into()));
    assert_eq!(installed["ready"], false, "it starts nothing");
    let not_done = installed["not_done"].as_array().unwrap();
    assert!(not_done[0].as_str().unwrap().contains("is not ready after 0 s"), "{installed}");
    assert_eq!(not_done.len(), 1, "{installed}");
    let uninstalled = world.palyra(&["daemon", "uninstall", "--yes", "--json"]).expect(0).json();
    assert_eq!(uninstalled["stopped"], true);
    let called = std::fs::read_to_string(&calls).unwrap();
    let expected = [
        "--user daemon-reload".to_owned(),
        format!("--user enable {unit}"),
        format!("--user restart {unit}"),
        format!("--user disable --now {unit}"),
        "--user daemon-reload".to_owned(),
    ];
    assert_eq!(called.lines().collect::<Vec<_>>(), expected);
}

/// Both would end the process that has it.
#[test]
fn a_service_that_alone_has_the_key_is_neither_started_again_nor_removed() {
    let world = World::new();
    let (main, calls) = (world.home().join("main"), world.home().join("calls"));
    let script = format!(
        "#!/bin/sh
[ \"$3\" != --property=MainPID ] || {{ read -r main < '{}'; echo \"$main\"; }}
echo \"$2\" >> '{}'
",
        main.display(),
        calls.display()
    );
    systemctl(&world, &script);
    world.palyra(&["daemon", "install", "--no-start"]).expect(0);
    let daemon = world.palyrad();
    std::fs::write(&main, format!("{}\n", daemon.id())).unwrap();
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim-8161").expect(0);
    std::fs::rename(world.home().join(".config/palyra"), world.home().join("away")).unwrap();
    until("the status tells it", || world.palyra(&["status"]).code == 7);
    std::fs::remove_file(&calls).unwrap();
    for command in [&["install", "--yes"][..], &["uninstall", "--yes"], &["restart"]] {
        let refused = world.palyra(&[&["daemon"], command].concat()).expect(1);
        assert!(refused.err.contains("nothing was stopped"), "{refused:?}");
        assert!(refused.err.contains("code: vault/key_only_in_memory"), "{refused:?}");
    }
    let called = std::fs::read_to_string(&calls).unwrap();
    assert!(called.lines().all(|call| call == "show"), "{called}");
    assert!(unit_of(&world).exists());
    world.palyra(&["daemon", "install", "--no-start"]).expect(0);
}

#[test]
fn a_path_that_would_begin_another_setting_is_refused() {
    let world = World::new();
    let strange = world.home().join("x\nExecStart=/bin/false");
    let arguments = ["--data-dir", strange.to_str().unwrap(), "daemon", "install", "--no-start"];
    world.palyra(&arguments).expect(2);
    assert!(!world.home().join(".config").exists());
}

/// What systemctl could do before it failed is not why it failed.
#[test]
fn without_a_session_the_reason_and_the_next_step_are_told() {
    let world = World::new();
    let script = "#!/bin/sh
case \"$2\" in
  enable) echo 'Created symlink /home/a/wants/palyra.service, pointing elsewhere.' >&2 ;;
  disable) echo 'Removed \"/home/a/wants/palyra.service\".' >&2 ;;
esac
echo 'Failed to connect to bus: No medium found' >&2
exit 1
";
    systemctl(&world, script);
    let check = |arguments: &[&str]| {
        let told = world.palyra(arguments).expect(1).out;
        assert!(told.contains(": Failed to connect to bus: No medium found)"), "{told}");
        assert!(!told.contains("Created") && !told.contains("Removed"), "{told}");
        told
    };
    let told = check(&["daemon", "install"]);
    assert!(told.contains("`palyra daemon start`"), "{told}");
    let installed = world.palyra(&["daemon", "install", "--json"]).expect(1).json();
    assert!(installed["next_step"].as_str().unwrap().contains("daemon start"), "{installed}");
    assert!(!told.contains("It starts when you log in"), "nobody answers who would: {told}");
    let other = world.home().join("other").display().to_string();
    let elsewhere = ["--data-dir", &other, "daemon", "install", "--json"];
    let installed = world.palyra(&elsewhere).expect(1).json();
    let same = format!("`palyra --data-dir {other} daemon start`");
    assert!(installed["next_step"].as_str().unwrap().contains(&same), "{installed}");
    let told = check(&["daemon", "install", "--no-start"]);
    assert!(!told.contains("`palyra daemon start`"), "nobody wants that: {told}");
    check(&["daemon", "uninstall", "--yes"]);
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
    let usual = |arguments: &[&str]| ran(world.command(arguments).env_remove("PALYRA_DATA_DIR"));
    usual(&["daemon", "install"]).expect(2);
    let asked = usual(&["daemon", "uninstall"]).expect(2).err;
    assert!(asked.contains("which was written by somebody else"), "{asked}");
    assert!(std::fs::read_to_string(&unit).unwrap().contains("/bin/true"));
    usual(&["daemon", "install", "--no-start", "--yes"]).expect(1);
    assert!(!std::fs::read_to_string(&unit).unwrap().contains("/bin/true"));
}

#[test]
fn the_doctor_sees_a_unit_whose_program_is_gone() {
    let world = World::new();
    foreign_unit(&world, "/gone/palyrad");
    let mut command = world.command(&["doctor", "--json"]);
    let report = ran(command.env_remove("PALYRA_DATA_DIR")).expect(7).json();
    let checks = report["checks"].as_array().unwrap();
    let service = checks.iter().find(|check| check["name"] == "service").unwrap();
    assert_eq!(service["state"], "failed", "{report:#}");
}

/// systemd starts the daemon with an environment of its own: on an empty database instead of the
/// one that the caller means.
#[test]
fn variables_that_the_service_would_not_have_are_refused() {
    let world = World::new();
    let mut command = world.command(&["daemon", "install", "--no-start"]);
    command.env("PALYRA_STORAGE_URL", "postgres://anna:geheim@db/x");
    command.env("PALYRA_VAULT_PASSPHRASE", "geheim").env("PALYRA_CONFIG", "/etc/palyra.toml");
    let refused = ran(&mut command).expect(2).err;
    for named in [
        "PALYRA_STORAGE_URL: `palyra config set storage.url",
        "PALYRA_VAULT_PASSPHRASE: `palyra config set vault.passphrase_file",
        "PALYRA_CONFIG: ",
    ] {
        assert!(refused.contains(named), "{refused}");
    }
    assert!(!refused.contains("geheim"), "{refused}");
    assert!(!unit_of(&world).exists());
    let mut command = world.command(&["daemon", "install", "--no-start"]);
    ran(command.env("PALYRA_TOKEN", "x").env("PALYRA_PALYRAD", palyrad())).expect(1);
    assert!(unit_of(&world).exists());
}

/// What the configuration names outside of the data directory is shut to a service otherwise.
#[test]
fn the_unit_opens_the_folders_that_the_configuration_names() {
    let world = World::new();
    let [blobs, keys, files, other] =
        ["blobs", "keys", "files", "other"].map(|name| world.home().join(name));
    let key = keys.join("key");
    world.palyra(&["config", "set", "storage.blobs", blobs.to_str().unwrap()]).expect(0);
    world.palyra(&["config", "set", "vault.key_file", key.to_str().unwrap()]).expect(0);
    world.palyra(&["config", "set", "agents.workspaces", files.to_str().unwrap()]).expect(0);
    let install = || world.palyra(&["daemon", "install", "--no-start"]).expect(1);
    let service = || {
        let report = world.palyra(&["doctor", "--json"]).expect(7).json();
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "service").unwrap().clone()
    };
    install();
    let text = std::fs::read_to_string(unit_of(&world)).unwrap();
    for folder in [&blobs, &keys, &files] {
        assert!(text.contains(&format!("ReadWritePaths=-\"{}\"\n", folder.display())), "{text}");
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    // There is no systemd here that could have been told.
    assert_eq!(service()["state"], "warning", "{:#}", service());
    let wants = unit_of(&world).with_file_name("default.target.wants");
    std::fs::create_dir(&wants).unwrap();
    let link = wants.join(unit_of(&world).file_name().unwrap());
    std::os::unix::fs::symlink(unit_of(&world), link).unwrap();
    assert_eq!(service()["state"], "ok", "{:#}", service());

    let set = ["config", "set", "storage.blobs", other.to_str().unwrap()];
    let told = world.palyra(&set).expect(0).out;
    let shut = format!("the service may not write to {}", other.display());
    assert!(told.contains(&shut) && told.contains("`palyra daemon install` again"), "{told}");
    let told = world.palyra(&[&set[..], &["--json"]].concat()).expect(0).json();
    assert!(told["service"].as_str().unwrap().contains(&shut), "{told}");
    assert_eq!((&service()["state"], &service()["seen"]), (&"failed".into(), &shut.into()));
    install();
    assert_eq!(service()["state"], "ok", "{:#}", service());
    world.palyra(&["config", "unset", "storage.blobs"]).expect(0);
    assert_eq!(service()["state"], "ok", "{:#}", service());
}

#[test]
fn a_key_for_s3_is_kept_where_only_its_owner_can_read_it() {
    let world = World::new();
    let with_key = || {
        let mut command = world.command(&["daemon", "install", "--no-start", "--json"]);
        command.env("AWS_ACCESS_KEY_ID", "AKIA-1").env("AWS_SECRET_ACCESS_KEY", "geheim$1\"");
        ran(command.env("AWS_PROFILE", "x")).expect(1)
    };
    let kept = world.data_dir().join("service.env");
    assert_eq!(with_key().json()["kept"], serde_json::json!([]));
    assert!(!kept.exists(), "nobody needs it");

    world.palyra(&["config", "set", "storage.blobs", "s3://bucket/x"]).expect(0);
    let told = world.palyra(&["daemon", "install", "--no-start"]).expect(1).out;
    assert!(told.contains("not done: the service has no key for S3"), "{told}");
    let installed = with_key();
    let names = serde_json::json!(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    assert_eq!(installed.json()["kept"], names);
    assert!(!format!("{installed:?}").contains("geheim"), "{installed:?}");
    let text = "AWS_ACCESS_KEY_ID=\"AKIA-1\"\nAWS_SECRET_ACCESS_KEY=\"geheim\\$1\\\"\"\n";
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), text);
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let unit = std::fs::read_to_string(unit_of(&world)).unwrap();
    assert!(unit.contains(&format!("EnvironmentFile=-{}\n", kept.display())), "{unit}");
    assert!(!unit.contains("geheim"), "{unit}");

    let told = world.palyra(&["daemon", "install", "--no-start"]).expect(1).out;
    assert!(!told.contains("S3") && kept.exists(), "what was kept stays: {told}");

    world.palyra(&["config", "unset", "storage.blobs"]).expect(0);
    std::fs::write(&kept, format!("{text}AWS_SESSION_TOKEN=\"x\"\nHTTPS_PROXY=p\n")).unwrap();
    with_key();
    let left = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(left, "HTTPS_PROXY=p\n", "a key that nobody needs does not stay");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&kept, text).unwrap();
    world.palyra(&["daemon", "install", "--no-start"]).expect(1);
    assert!(!kept.exists(), "nothing is left of it");

    world.palyra(&["config", "set", "storage.blobs", "s3://bucket/x"]).expect(0);
    with_key();
    world.palyra(&["daemon", "uninstall", "--yes"]).expect(1);
    assert!(!kept.exists(), "it goes with the service");
}

#[test]
fn a_key_that_cannot_be_kept_is_refused_before_anything_is_written() {
    let world = World::new();
    world.palyra(&["config", "set", "storage.blobs", "s3://bucket/x"]).expect(0);
    let mut command = world.command(&["daemon", "install", "--no-start"]);
    command.env("AWS_ACCESS_KEY_ID", "AKIA-1").env("AWS_SECRET_ACCESS_KEY", "geheim\nB=1");
    let refused = ran(&mut command).expect(2).err;
    assert!(refused.contains("nothing was written") && !refused.contains("geheim"), "{refused}");
    assert!(!world.home().join(".config").exists() && !world.data_dir().join("log").exists());
}

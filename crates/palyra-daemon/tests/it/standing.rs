//! Files that somebody else may change are not believed.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use palyra_testkit::fs::{private_dir, private_tempdir};
use palyra_testkit::process::Builder;

use crate::daemon::{Daemon, palyrad, refused};

const CONFIG: &str = "[log]\nlevel = \"info\"\n";
/// Nobody here.
const STRANGER: u32 = 61_234;

/// A folder with a configuration file in it.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = private_tempdir().unwrap();
        private_dir(folder.path().join("etc")).unwrap();
        let world = Self { folder };
        std::fs::write(world.config(), CONFIG).unwrap();
        set_mode(&world.config(), 0o600);
        world
    }

    fn etc(&self) -> PathBuf {
        self.folder.path().join("etc")
    }

    fn config(&self) -> PathBuf {
        self.etc().join("palyra.toml")
    }

    fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn palyrad(&self) -> Builder {
        palyrad().data_dir(self.data_dir()).arg("--config").arg(self.config())
    }

    /// A start is refused with `what` to do, and has made nothing.
    #[track_caller]
    fn refuses(&self, why: &str, what: &str) {
        let (code, told) = refused(self.palyrad());
        assert_eq!(code, Some(4), "{told}");
        assert!(told.contains("code: config/open_to_others"), "{told}");
        assert!(told.contains(why) && told.contains(what), "{told}");
        assert!(!self.data_dir().exists());
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Only root may give things away.
#[expect(clippy::print_stderr, reason = "what is not tried is told")]
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("not tried: only root can give a file to somebody else");
    }
    is_root
}

#[test]
fn a_configuration_that_others_may_write_is_refused() {
    let world = World::new();
    let close = format!("chmod go-w '{}'", world.config().display());
    for mode in [0o666, 0o620, 0o602] {
        set_mode(&world.config(), mode);
        set_mode(&world.etc(), 0o755);
        world.refuses(&format!("its mode is {mode:o}"), &close);
        // Nobody else gets at it there.
        set_mode(&world.etc(), 0o700);
        drop(Daemon::of(world.palyrad()));
        std::fs::remove_dir_all(world.data_dir()).unwrap();
    }
}

#[test]
fn a_configuration_that_others_may_replace_is_refused() {
    let world = World::new();
    set_mode(&world.etc(), 0o777);
    world.refuses("has mode 777", &format!("chmod go-w '{}'", world.etc().display()));
    // A link is as open as what it leads to.
    let link = world.folder.path().join("link.toml");
    std::os::unix::fs::symlink(world.config(), &link).unwrap();
    let (_, told) = refused(palyrad().data_dir(world.data_dir()).arg("--config").arg(link));
    assert!(told.contains("config/open_to_others") && told.contains("has mode 777"), "{told}");
    set_mode(&world.etc(), 0o1777);
    drop(Daemon::of(world.palyrad()));
}

#[test]
fn a_configuration_of_somebody_else_is_refused() {
    if !is_root() {
        return;
    }
    let world = World::new();
    chown(world.config(), Some(STRANGER), None).unwrap();
    let give = format!("chown 0 '{}'", world.config().display());
    world.refuses(&format!("it belongs to user {STRANGER}"), &give);
    chown(world.config(), Some(0), None).unwrap();
    chown(world.etc(), Some(STRANGER), None).unwrap();
    world.refuses(&format!("belongs to user {STRANGER}"), "chown 0 ");
}

#[test]
fn a_data_directory_of_somebody_else_is_refused() {
    if !is_root() {
        return;
    }
    let folder = private_tempdir().unwrap();
    chown(folder.path(), Some(STRANGER), None).unwrap();
    let (code, told) = refused(palyrad().data_dir(folder.path()));
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("code: storage/open_to_others"), "{told}");
    assert!(told.contains(&format!("belongs to user {STRANGER}")), "{told}");
    assert!(told.contains(&format!("chown -R 0 '{}'", folder.path().display())), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made in it");
}

#[test]
fn a_daemon_that_runs_does_not_take_over_what_others_have_changed() {
    let world = World::new();
    let daemon = Daemon::of(world.palyrad());
    set_mode(&world.etc(), 0o755);
    set_mode(&world.config(), 0o666);
    let change = r#"{"set": {"log.level": "debug"}}"#;
    let refused = daemon.local("PATCH", "/admin/v1/config", change);
    assert_eq!((refused.status, refused.code().as_str()), (503, "config/open_to_others"));
    assert_eq!(std::fs::read_to_string(world.config()).unwrap(), CONFIG);
    let checks = daemon.local("GET", "/admin/v1/doctor", "").json();
    let mut checks = checks["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["name"] == "config").unwrap();
    assert_eq!(found["state"], "failed", "{found}");
    set_mode(&world.config(), 0o600);
    assert_eq!(daemon.local("PATCH", "/admin/v1/config", change).status, 200);
}

/// It is only looked at: a start would refuse it where it is.
#[test]
fn a_file_that_is_validated_alone_is_warned_of() {
    let world = World::new();
    set_mode(&world.etc(), 0o755);
    set_mode(&world.config(), 0o664);
    let validate = |arguments: &[&str]| {
        let mut palyrad = std::process::Command::new(env!("CARGO_BIN_EXE_palyrad"));
        palyrad.args(["config", "validate"]).args(arguments);
        palyrad.env("PALYRA_DATA_DIR", world.data_dir()).output().unwrap()
    };
    let config = world.config().display().to_string();
    let alone = validate(&[&config]);
    assert!(alone.status.success(), "{alone:?}");
    let told = String::from_utf8(alone.stderr).unwrap();
    assert!(told.starts_with("palyrad: warning: others can change"), "{told}");
    let in_use = validate(&["--config", &config]);
    assert_eq!(in_use.status.code(), Some(4), "{in_use:?}");
}

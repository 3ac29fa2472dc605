use std::os::unix::fs::PermissionsExt;

use super::*;

const SECRET_TOOL: &str = include_str!("../../../tests/it/stand-in/secret-tool");
const SECURITY: &str = include_str!("../../../tests/it/stand-in/security");

/// A keyring behind a script, and what is in it.
struct World {
    folder: tempfile::TempDir,
    keyring: Keyring,
}

impl World {
    fn new(script: &str, tool: fn(PathBuf) -> Tool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("entries")).unwrap();
        let program = folder.path().join("tool");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
        let keyring = Keyring { tool: tool(program), ..Keyring::of(folder.path()) };
        Self { folder, keyring }
    }

    fn secret_tool(body: &str) -> Self {
        Self::new(&format!("#!/bin/sh\n{body}\n"), Tool::SecretTool)
    }

    fn entries(&self) -> usize {
        self.folder.path().join("entries").read_dir().unwrap().count()
    }

    async fn told(&self) -> String {
        let problem = self.keyring.read_or_create().await.unwrap_err().to_string();
        assert!(!problem.contains("canary"), "{problem}");
        problem
    }
}

fn worlds() -> [World; 2] {
    [World::new(SECRET_TOOL, Tool::SecretTool), World::new(SECURITY, Tool::Security)]
}

#[tokio::test]
async fn the_key_is_made_once_and_is_never_an_argument() {
    for world in worlds() {
        assert!(world.keyring.read().await.unwrap().is_none());
        let made = world.keyring.read_or_create().await.unwrap();
        assert!(*made == *world.keyring.read_or_create().await.unwrap());
        assert!(*made == *world.keyring.read().await.unwrap().unwrap());
        assert_eq!(world.entries(), 1);
        let calls = std::fs::read_to_string(world.folder.path().join("calls")).unwrap();
        assert!(!calls.contains(key::write(&made).as_str()), "{calls}");
    }
}

#[tokio::test]
async fn installations_have_keys_of_their_own() {
    let world = World::new(SECRET_TOOL, Tool::SecretTool);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Keyring { tool: world.keyring.tool.clone(), ..Keyring::of(elsewhere.path()) };
    let key = world.keyring.read_or_create().await.unwrap();
    assert!(*key != *other.read_or_create().await.unwrap());
}

#[tokio::test]
async fn the_next_key_is_seen_only_by_its_id_until_it_takes_over() {
    for world in worlds() {
        let keyring = &world.keyring;
        let old = keyring.read_or_create().await.unwrap();
        let (new, unused) = (entropy::random_key(), entropy::random_key());
        let (id, unused_id) = (KeyId::random(), KeyId::random());
        let held = keyring.lock().await.unwrap().unwrap();
        assert!(keyring.lock().await.unwrap().is_none(), "one at a time");
        keyring.write_pending(&unused_id, &unused, &held).await.unwrap();
        keyring.write_pending(&id, &new, &held).await.unwrap();
        assert!(*keyring.read().await.unwrap().unwrap() == *old);
        assert!(*keyring.pending(&id).await.unwrap().unwrap() == *new);

        keyring.finish(&id, &held).await.unwrap();
        assert!(*keyring.read().await.unwrap().unwrap() == *new);
        assert!(keyring.pending(&id).await.unwrap().is_none());
        assert!(*keyring.kept(&id).await.unwrap().unwrap() == *new);
        assert!(keyring.kept(&unused_id).await.unwrap().is_none());
        // A second time, and for one that is not there, it does nothing.
        keyring.finish(&id, &held).await.unwrap();
        assert!(*keyring.pending(&unused_id).await.unwrap().unwrap() == *unused);
        keyring.discard_all(&held).await.unwrap();
        assert_eq!(world.entries(), 2);

        keyring.keep(&unused_id, &unused).await.unwrap();
        keyring.forget(&unused_id).await.unwrap();
        keyring.forget(&unused_id).await.unwrap();
        assert!(keyring.kept(&unused_id).await.unwrap().is_none());
        assert!(keyring.kept(&id).await.unwrap().is_some());

        keyring.write_pending(&unused_id, &unused, &held).await.unwrap();
        keyring.discard(&unused_id, &held).await.unwrap();
        assert_eq!(world.entries(), 2);
        assert!(*keyring.read().await.unwrap().unwrap() == *new);
    }
}

/// What some versions of `secret-tool` do, whether there was anything or not.
#[tokio::test]
async fn a_tool_that_always_says_that_it_cleared_is_run_once() {
    let world = World::secret_tool(r#"echo "$*" >> "$(dirname "$0")/calls""#);
    world.keyring.forget(&KeyId::random()).await.unwrap();
    let calls = std::fs::read_to_string(world.folder.path().join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 1, "{calls}");
}

#[tokio::test]
async fn whoever_comes_second_finds_the_key_of_the_first() {
    let world = World::new(SECRET_TOOL, Tool::SecretTool);
    let both = tokio::join!(world.keyring.read_or_create(), world.keyring.read_or_create());
    assert!(*both.0.unwrap() == *both.1.unwrap());
}

#[tokio::test]
async fn what_to_do_is_told() {
    let check = async |body: &str, expected: &str| {
        let told = World::secret_tool(body).told().await;
        assert!(told.contains(expected), "{body}: {told}");
    };
    check("echo 'secret-tool: Cannot autolaunch D-Bus without X11' >&2; exit 1", "D-Bus session")
        .await;
    let locked = "[ $1 = lookup ] && exit 1
        echo 'secret-tool: Cannot create an item in a locked collection' >&2; exit 1";
    check(locked, "is locked; unlock it").await;
    let none = "[ $1 = lookup ] && exit 1
        echo 'secret-tool: Object does not exist at path /…/collection/login' >&2; exit 1";
    check(none, "make a keyring").await;
    check("echo 'secret-tool: canary' >&2; exit 3", "tool ended with exit status: 3").await;
    check("echo 'secret-tool: canary' >&2; exit 1", "tool ended with exit status: 1").await;
    check("echo canary", "that is none; put the key back").await;
    check("yes", "printed more than 4096 bytes").await;
    check("yes >&2", "printed more than 4096 bytes").await;
    check("[ $1 = store ] && exec cat > /dev/null; exit 1", "does not give it back").await;
    check(r"printf '\377'", "not text").await;

    let mut world = World::secret_tool("");
    let missing = world.folder.path().join("missing");
    world.keyring.tool = Tool::SecretTool(missing);
    let told = world.told().await;
    assert!(told.contains("libsecret-tools") && told.contains("vault.key_source"), "{told}");
}

#[tokio::test]
async fn libraries_that_warn_do_not_make_an_absent_key_a_problem() {
    let world = World::secret_tool("echo 'GLib-WARNING: something' >&2; exit 1");
    assert!(world.keyring.read().await.unwrap().is_none());
}

#[tokio::test]
async fn a_keyring_that_waits_for_somebody_is_given_up() {
    let mut world = World::secret_tool("sleep 600");
    world.keyring.limit = Duration::from_millis(300);
    let told = world.told().await;
    assert!(told.contains("0.3 s; it may wait for somebody to unlock it"), "{told}");
}

#[tokio::test]
async fn a_locked_keychain_is_told() {
    let world = World::new("#!/bin/sh\nexit 36\n", Tool::Security);
    assert!(world.told().await.contains("is locked; unlock it"));
}

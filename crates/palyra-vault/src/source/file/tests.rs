use super::*;
use crate::entropy;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_key_file_is_made_private_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palyra/keys/a.key");
    let first = entropy::random_key();
    create(&path, &first).unwrap();
    create(&path, &entropy::random_key()).unwrap();
    assert!(*read_key(&path).unwrap() == *first, "the second maker takes the first one's key");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(files(path.parent().unwrap()), ["a.key"], "no draft is left");
}

#[test]
fn a_key_file_that_others_may_touch_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.key");
    create(&path, &entropy::random_key()).unwrap();
    for exposed in [0o640, 0o604, 0o620, 0o601, 0o644, 0o777] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(exposed)).unwrap();
        let problem = read_key(&path).err().unwrap();
        let told = problem.to_string();
        assert!(matches!(problem, KeyProblem::Exposed { mode, .. } if mode == exposed), "{told}");
        assert!(told.contains("chmod 600") && told.contains(&format!("{exposed:o}")), "{told}");
    }
    for private in [0o600, 0o400] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(private)).unwrap();
        assert!(read_key(&path).is_ok(), "{private:o}");
    }
}

#[test]
fn what_is_no_key_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read_key(&folder.path().join("none")).err().unwrap();
    assert!(matches!(missing, KeyProblem::Missing { .. }), "{missing}");
    let directory = read_key(folder.path()).err().unwrap();
    assert!(matches!(directory, KeyProblem::Unusable { .. }), "{directory}");
    let path = folder.path().join("a.key");
    for content in [String::new(), "no key".into(), "A".repeat(1 << 20)] {
        std::fs::write(&path, &content).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let problem = read_key(&path).err().unwrap();
        assert!(matches!(problem, KeyProblem::Malformed), "{problem}");
    }
}

#[test]
fn the_next_key_waits_beside_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.key");
    let (old, new) = (entropy::random_key(), entropy::random_key());
    let (id, other) = (KeyId::random(), KeyId::random());
    create(&path, &old).unwrap();
    write_pending(&path, &id, &new).unwrap();
    write_pending(&path, &other, &entropy::random_key()).unwrap();
    assert!(*read_key(&path).unwrap() == *old);
    assert_eq!(mode(&pending(&path, &id)), 0o600);
    finish(&path, &id).unwrap();
    finish(&path, &id).unwrap();
    assert!(*read_key(&path).unwrap() == *new);
    remove_pending(&path, &id).unwrap();
    assert_eq!(files(folder.path()), ["a.key".to_owned(), format!("a.key.{id}")]);
    assert!(*read_key(&kept(&path, &id)).unwrap() == *new);
}

#[test]
fn one_at_a_time_changes_a_key_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.key");
    let held = lock(&path).unwrap().unwrap();
    assert!(lock(&path).unwrap().is_none());
    drop(held);
    assert!(lock(&path).unwrap().is_some());
}

#[test]
fn each_data_directory_has_its_own_key_file() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&two).unwrap();
    let of = |data_dir: &Path| path_in(Path::new("/config"), data_dir);
    assert_ne!(of(&one), of(&two));
    assert_eq!(of(&one), of(&two.join("../one")), "however it is written");
    let name = of(&one).file_name().unwrap().to_owned().into_string().unwrap();
    assert!(of(&one).starts_with("/config/palyra/keys"));
    assert_eq!(name.len(), "0123456789abcdef.key".len(), "{name}");
}

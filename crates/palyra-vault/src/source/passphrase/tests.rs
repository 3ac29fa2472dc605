use std::os::unix::fs::PermissionsExt;

use super::*;

fn quick(salt: &str) -> Derivation {
    Derivation::Argon2id { salt: STANDARD.encode(salt), memory_kib: 64, passes: 1, lanes: 1 }
}

#[test]
fn a_key_follows_from_passphrase_salt_and_cost() {
    let one = derive(&"one".into(), &quick("saltsalt")).unwrap();
    assert!(*one == *derive(&"one".into(), &quick("saltsalt")).unwrap());
    assert!(*one != *derive(&"two".into(), &quick("saltsalt")).unwrap());
    assert!(*one != *derive(&"one".into(), &quick("saltsal2")).unwrap());
}

/// From the specification of Argon2 by its authors: `argon2 somesalt -id -t 2 -m 16 -p 1`.
#[test]
fn it_is_argon2id() {
    let how = Derivation::Argon2id {
        salt: STANDARD.encode("somesalt"),
        memory_kib: 65_536,
        passes: 2,
        lanes: 1,
    };
    let key = derive(&"password".into(), &how).unwrap();
    let expected = "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7";
    assert_eq!(crate::key::hex(&*key), expected);
}

#[test]
fn what_is_stored_can_be_read_and_is_bounded() {
    let how = Derivation::argon2id();
    assert_eq!(Derivation::from_json(&how.to_json()).unwrap(), how);
    assert_ne!(how, Derivation::argon2id(), "each key has its own salt");
    assert_eq!(Derivation::from_json(r#"{"kind":"none"}"#).unwrap(), Derivation::None);
    assert!(Derivation::from_json(r#"{"kind":"md5"}"#).is_err());
    let salt = || STANDARD.encode("saltsalt");
    for (memory_kib, passes) in [(MAX_MEMORY_KIB + 1, 1), (64, MAX_PASSES + 1), (0, 1), (64, 0)] {
        let how = Derivation::Argon2id { salt: salt(), memory_kib, passes, lanes: 1 };
        assert!(derive(&"one".into(), &how).is_err(), "{how:?}");
    }
}

#[test]
fn a_passphrase_file_is_private_and_ends_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passphrase");
    let read_as = |content: &str, mode: u32| {
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        read(Some(&path)).map(|text| text.expose().to_owned())
    };
    assert_eq!(read_as("two words \n", 0o600).unwrap(), "two words ");
    assert_eq!(read_as("two\r\n", 0o600).unwrap(), "two");
    assert!(matches!(read_as("\n", 0o600), Err(KeyProblem::NoPassphrase)));
    assert!(matches!(read_as("words", 0o644), Err(KeyProblem::Exposed { .. })));
}

#[test]
fn a_new_passphrase_is_one_that_its_file_gives_back() {
    let accepted = |text: &str| accept(&text.into()).map_err(|error| error.to_string());
    let longest = "ü".repeat(MAX_CHARS);
    for text in ["two words", " grün ", &longest] {
        assert_eq!(accepted(text), Ok(()));
    }
    let longer = format!("{longest}x");
    let wrong = [("", "empty"), ("abc\r", "one line"), ("a\nb", "one line"), (&longer, "1000")];
    for (text, why) in wrong {
        let refused = accepted(text).unwrap_err();
        assert!(refused.contains(why), "{refused}");
        assert!(text.is_empty() || !refused.contains(text), "it is not repeated");
    }
}

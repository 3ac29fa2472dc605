use super::*;

#[test]
fn a_key_is_read_in_base64_and_in_hex() {
    let key = entropy::random_key();
    let forms = [
        write(&key).to_string(),
        format!("  {}\n", *write(&key)),
        STANDARD_NO_PAD.encode(*key),
        URL_SAFE.encode(*key),
        URL_SAFE_NO_PAD.encode(*key),
        hex(&*key),
        hex(&*key).to_uppercase(),
    ];
    for form in forms {
        assert!(*parse(&form).unwrap() == *key, "{form}");
    }
    for refused in ["", "short", &"0".repeat(62), &"0".repeat(66), &"z".repeat(43)[..42]] {
        assert!(parse(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn only_the_right_key_opens_the_probe() {
    let key = MasterKey::new(KeyId::random(), entropy::random_key());
    let probe = key.probe();
    assert!(MasterKey::verified(&key.id, key.bytes.clone(), &probe).is_some());
    assert!(MasterKey::verified(&key.id, entropy::random_key(), &probe).is_none());
    assert!(MasterKey::verified(&KeyId::random(), key.bytes.clone(), &probe).is_none());
}

#[test]
fn an_id_that_could_be_a_path_is_refused() {
    assert!("../../../../../../etc/passwd12345".parse::<KeyId>().is_err());
    assert!("..".parse::<KeyId>().is_err());
    let id = KeyId::random();
    assert_eq!(id.as_str().parse(), Ok(id.clone()));
}

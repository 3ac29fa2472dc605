use super::*;

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

#[test]
fn every_flipped_bit_is_noticed() {
    let key = entropy::random_key();
    let bound = Bound::value(&name("global/key"), 1);
    let sealed = seal(&key, b"value", &bound);
    assert_eq!(open(&key, &sealed, &bound).unwrap().as_slice(), b"value");
    for at in 0..sealed.len() {
        for bit in 0..8 {
            let mut changed = sealed.clone();
            changed[at] ^= 1 << bit;
            assert!(open(&key, &changed, &bound).is_err(), "byte {at}, bit {bit}");
        }
        assert!(open(&key, &sealed[..at], &bound).is_err(), "cut at {at}");
    }
    assert!(open(&entropy::random_key(), &sealed, &bound).is_err());
}

#[test]
fn a_seal_holds_for_one_name_one_version_and_one_purpose() {
    let key = entropy::random_key();
    let bounds = [
        Bound::value(&name("global/key"), 1),
        Bound::value(&name("global/key"), 2),
        Bound::value(&name("global/keyy"), 1),
        Bound::value(&name("agent:a/key"), 1),
        Bound::value(&name("agent:ak/ey"), 1),
        Bound::data_key(&name("global/key"), 1),
        Bound::data_key(&name("global/key"), 1).text("id"),
    ];
    for (at, bound) in bounds.iter().enumerate() {
        let sealed = seal(&key, b"value", bound);
        for (other, bound) in bounds.iter().enumerate() {
            assert_eq!(open(&key, &sealed, bound).is_ok(), at == other, "{at} as {other}");
        }
    }
}

#[test]
fn two_seals_of_one_text_share_nothing() {
    let key = entropy::random_key();
    let bound = Bound::value(&name("global/key"), 1);
    let (one, two) = (seal(&key, b"value", &bound), seal(&key, b"value", &bound));
    assert_ne!(one[..NONCE], two[..NONCE]);
    assert_ne!(one[NONCE..], two[NONCE..]);
}

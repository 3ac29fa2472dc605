use super::*;

#[test]
fn a_restore_knows_its_own_names_and_no_others() {
    let made_at = Timestamp::from_unix_millis(1_700_000_000_000);
    let ours = NewNames { made_at, ..NewNames::new() };
    let theirs = NewNames { made_at, ..NewNames::new() };
    let name = |names: &NewNames, sha256: &str| {
        let Located { sha256, generation } = names.of(sha256);
        format!("{sha256}.{generation}")
    };
    let check = |name: &str, expected| assert_eq!(was_put(name, ours.salt), expected, "{name}");
    check(&name(&ours, "ab"), true);
    check(&format!("{}#1", name(&ours, "ab")), true);
    check(&name(&theirs, "ab"), false);
    check(&name(&ours, "ab").replace("ab.", "cd."), false);
    for other in ["", ".", "#", "ab", "ab.", "precious", "palyra-probe-01", "ab.cd#1"] {
        check(other, false);
    }
}

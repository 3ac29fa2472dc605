use super::*;

/// A start looks at a place for blobs that is away again and again, and comes up meanwhile.
#[test]
fn only_what_a_start_fails_for_hinders_it() {
    for (name, decides) in [
        ("config", true),
        ("database", true),
        ("bind:http.bind", true),
        ("postgres_version", true),
        ("blob_place", true),
        ("blob_round_trip", false),
        ("lease_round_trip", false),
        ("disk_space", false),
    ] {
        let check = |state| Check {
            name: name.into(),
            state,
            seen: String::new(),
            advice: None,
            fixable: false,
        };
        assert_eq!(hinders(&check(CheckState::Failed)), decides, "{name}");
        assert!(!hinders(&check(CheckState::Warning)), "{name}");
    }
}

#[test]
fn what_palyrad_found_keeps_its_code() {
    for (name, seen, code, what) in [
        ("storage_path", "/d is full (storage/disk_full)", "storage/disk_full", "/d is full"),
        ("bind:http.bind", "in use (daemon/address_in_use)", "daemon/address_in_use", "in use"),
        ("blob_place", "no (such) folder", "client/palyrad_failed", "no (such) folder. Do it."),
        ("config", "wrong (os error 2)", "config/invalid", "wrong (os error 2). Do it."),
    ] {
        let advice = Some("Do it.".to_owned());
        let state = CheckState::Failed;
        let check = Check { name: name.into(), state, seen: seen.into(), advice, fixable: false };
        let Hindrance { code: found, told } = told(check);
        assert_eq!((found.as_str(), told), (code, format!("{name}: {what}")));
    }
}

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

use super::*;
use crate::error::ErrorCode;

#[test]
fn every_known_error_has_its_class() {
    let table: String = ErrorCode::ALL
        .iter()
        .map(|code| {
            let exit = Exit::of(&StableErrorEnvelope::new(*code, ""));
            format!("{} {code}\n", exit.code())
        })
        .collect();
    let of_class = |class: Exit| {
        let start = format!("{} ", class.code());
        table.lines().filter_map(|line| line.strip_prefix(&start)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of_class(Exit::NoDaemon), "client/daemon_not_running client/unreachable");
    let not_allowed = of_class(Exit::NotAllowed);
    let others: Vec<_> = not_allowed.split(' ').filter(|code| !code.starts_with("auth/")).collect();
    let expected = [
        "storage/read_only",
        "storage/open_to_others",
        "config/open_to_others",
        "client/not_permitted",
    ];
    assert_eq!(others, expected);
    assert!(of_class(Exit::Usage).contains("daemon/address_refused"));
    assert_eq!(of_class(Exit::Declined), "client/declined");
    assert_eq!(of_class(Exit::Interrupted), "client/interrupted");
    assert_eq!(of_class(Exit::NotFound), "common/not_found models/not_configured blob/not_found");
    assert_eq!(
        of_class(Exit::Conflict),
        "common/conflict storage/locked storage/constraint daemon/address_in_use \
         backup/target_in_use"
    );
    assert_eq!(of_class(Exit::Faults), "journal/broken_chain backup/invalid");
}

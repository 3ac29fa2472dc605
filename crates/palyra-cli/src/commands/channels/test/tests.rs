use super::*;

#[track_caller]
fn check(reason: Option<RouteReason>, expected: &str) {
    let told = unanswered(&"echo:default".parse().unwrap(), reason);
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn what_is_decided_later_is_not_what_nobody_answers() {
    check(None, "The message is kept, and who answers it will be decided; `palyra channels show ");
    check(Some(RouteReason::NoRule), "Nobody answers: no_rule. See `palyra router rules list`.\n");
    let off = "Nobody answers: connector_disabled. See `palyra channels enable echo:default`.\n";
    check(Some(RouteReason::ConnectorDisabled), off);
}

use clap::Parser;
use palyra_common::handoff::to_handoff_url;

use super::Target;

const ID: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0E";

#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    target: Target,
}

/// Where options lead; nothing: to the front page.
fn check(options: &[&str], expected: Option<&str>) {
    let options = std::iter::once("dashboard").chain(options.iter().copied());
    let handoff = Alone::try_parse_from(options).unwrap().target.handoff();
    assert_eq!(handoff.as_ref().map(to_handoff_url).as_deref(), expected);
}

#[test]
fn what_is_named_says_the_page_unless_one_is() {
    check(&[], None);
    check(&["--section", "Diagnostics"], Some("/?section=diagnostics&source=cli"));
    let approval = format!("/?section=approvals&runId={ID}&approvalId={ID}&source=cli");
    check(&["--approval", ID, "--run", ID], Some(&approval));
    let run = format!("/?section=runs&sessionId={ID}&runId={ID}&source=cli");
    check(&["--run", &ID.to_lowercase(), "--session", ID], Some(&run));
    let chat = format!("/?section=chat&sessionId={ID}&intent=resume-session&source=cli");
    check(&["--session", ID, "--intent", "resumeSession"], Some(&chat));
    let channel = "/?section=channels&connectorId=echo%3Adefault&source=cli";
    check(&["--connector=echo:default"], Some(channel));
    check(&["--intent", "inspect-run"], Some("/?section=runs&intent=inspect-run&source=cli"));
    let named = format!("/?section=overview&runId={ID}&source=cli");
    check(&["--section", "overview", "--run", ID], Some(&named));
}

#[test]
fn what_is_not_known_is_refused_here() {
    for options in [
        ["--section", "payroll"],
        ["--intent", "fly"],
        ["--run", "//evil.example"],
        ["--connector", "a b"],
    ] {
        let options = std::iter::once("dashboard").chain(options);
        assert!(Alone::try_parse_from(options).is_err());
    }
}

use super::*;

fn globals(data_dir: Option<&str>, host: Option<&str>) -> Globals {
    Globals {
        data_dir: data_dir.map(Into::into),
        host: host.map(|host| host.parse().unwrap()),
        token_file: host.map(|_| "/t".into()),
        json: false,
    }
}

#[track_caller]
fn check(globals: &Globals, text: &str, expected: &str) {
    assert_eq!(address(globals).complete(text), expected);
}

#[test]
fn a_command_leads_to_the_same_daemon() {
    let text = "run `palyra status` or `palyra daemon stop`; palyra is `palyra`";
    check(&globals(None, None), text, text);
    check(
        &globals(Some("/srv/p"), None),
        text,
        "run `palyra --data-dir /srv/p status` or `palyra --data-dir /srv/p daemon stop`; palyra is \
         `palyra`",
    );
    check(
        &globals(None, Some("https://p.example")),
        text,
        "run `palyra --host https://p.example --token-file /t status` or `palyra daemon stop` (on the \
         daemon's machine); palyra is `palyra`",
    );
}

#[test]
fn a_credential_is_made_where_none_is_needed() {
    let address = address(&globals(Some("/srv/p"), Some("https://p.example")));
    let text = "run `palyra dashboard`, or `palyra auth tokens create`.";
    let there = "run `palyra dashboard` (on the daemon's machine), or `palyra auth tokens create` \
                 (on the daemon's machine).";
    assert_eq!(address.complete_there(text), there);
    let local = super::address(&globals(Some("/srv/p"), None));
    assert_eq!(local.complete_there("`palyra status`"), "`palyra --data-dir /srv/p status`");
}

#[test]
fn a_shell_reads_the_folder_as_one_word() {
    let expected = r"`palyra --data-dir '/it'\''s my data' status`";
    check(&globals(Some("/it's my data"), None), "`palyra status`", expected);
    check(&globals(Some("/it's my data"), None), expected, expected);
}

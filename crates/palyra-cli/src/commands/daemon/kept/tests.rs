use std::ffi::OsString;
use std::path::Path;

use super::{ours, resolved, without_data_dir};

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(OsString::from).collect()
}

#[test]
fn a_file_is_named_by_its_whole_path() {
    let check = |given: &str, expected: &str| {
        assert_eq!(resolved(words(given), Path::new("/srv")), words(expected), "{given}");
    };
    check("--log-level warn", "--log-level warn");
    check("--config a.toml --log-level warn", "--config /srv/a.toml --log-level warn");
    check("--config=a.toml x", "--config=/srv/a.toml x");
    check("--config /etc/a.toml", "--config /etc/a.toml");
    check("--config --config x", "--config /srv/--config x");
    check("--config", "--config");
}

#[test]
fn the_data_directory_is_named_anew() {
    let line = words("--data-dir a --log-level warn --data-dir=b");
    assert_eq!(without_data_dir(line.into_iter()), words("--log-level warn"));
}

#[test]
fn only_variables_of_the_daemon_are_kept() {
    let all = b"HOME=/x\0PALYRA_LOG_LEVEL=a=b\0PALYRA_CONFIG=c.toml\0PALYRA_TOKEN=t\0\
        PALYRA_DATA_DIR=d\0PALYRA_PALYRAD=p\0XPALYRA_A=1\0PALYRA_BROKEN\0AWS_SECRET_ACCESS_KEY=k\0AWS_PROFILE=x\0\0";
    let expected = [
        ("AWS_SECRET_ACCESS_KEY", "k"),
        ("PALYRA_CONFIG", "/srv/c.toml"),
        ("PALYRA_LOG_LEVEL", "a=b"),
    ];
    let expected = expected.map(|(name, value)| (name.into(), value.into()));
    assert_eq!(ours(all, Path::new("/srv")), expected);
}

use super::ServerVersion;

#[test]
fn versions_are_compared_by_number_however_they_are_written() {
    for (text, older) in [
        ("9.5.25", true),
        ("9.6.24", false),
        ("9.10", false),
        ("10.23", false),
        ("15.14 (Debian 15.14-0+deb12u1)", false),
        ("18beta1", false),
        ("8.4", true),
    ] {
        let version = ServerVersion::from(text.to_owned());
        assert_eq!(version.is_older_than(ServerVersion::OLDEST), older, "{text}");
    }
}

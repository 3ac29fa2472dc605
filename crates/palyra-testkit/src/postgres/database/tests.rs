use super::percent_encoded;

#[test]
fn a_directory_survives_as_a_query_value() {
    assert_eq!(
        percent_encoded("/tmp/a b&c=d/é-._~9Z".as_bytes()),
        "%2Ftmp%2Fa%20b%26c%3Dd%2F%C3%A9-._~9Z"
    );
}

use super::*;

fn check(options: &[&str]) -> Outcome {
    let options: Vec<_> = options.iter().map(OsString::from).collect();
    refuse_passwords(&options)
}

#[test]
fn an_address_with_a_password_is_refused_and_not_repeated() {
    let url = "postgres://anna:geheim@db/palyra";
    let joined = format!("--storage-url={url}");
    for options in [&["--storage-url", url][..], &["--log-level", "debug", &joined]] {
        let Err(Failure::Told(told)) = check(options) else { panic!("{options:?}") };
        assert!(told.message().contains("`palyra config set storage.url -`"), "{told}");
        assert!(!told.message().contains("geheim"), "{told}");
    }
}

#[test]
fn other_options_are_none_of_its_business() {
    for options in [
        &[][..],
        &["--storage-url"],
        &["--storage-url", "postgres://anna@db/palyra"],
        &["--storage-url=postgres:///palyra?host=/run/postgresql"],
        &["--log-level", "warn,token=debug"],
    ] {
        assert!(check(options).is_ok(), "{options:?}");
    }
}

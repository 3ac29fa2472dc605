use super::Account;

const PASSWD: &str = "\
root:x:0:0:root:/root:/bin/bash
nobody2:x:7:8::/:/bin/sh
broken:x:many:8::/:/bin/sh
nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin
";

fn check(name: &str, expected: Option<(u32, u32)>) {
    let found = Account::parse(PASSWD, name).map(|account| (account.uid, account.gid));
    assert_eq!(found, expected, "{name}");
}

#[test]
fn an_account_is_found_by_its_whole_name() {
    check("nobody", Some((65534, 65533)));
    check("nobody2", Some((7, 8)));
    check("nob", None);
    check("broken", None);
}

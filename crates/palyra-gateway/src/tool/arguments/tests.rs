use palyra_common::time::Timestamp;
use proptest::prelude::*;

use super::*;

fn canonical(written: &str) -> Result<String, String> {
    Arguments::parse(written).map(|read| read.text).map_err(|error| error.to_string())
}

#[test]
fn arguments_have_one_form() {
    let read = canonical(" {\"b\": 1.50, \"a\" : {\"z\": [], \"y\":\"é\\u0041\"}} ").unwrap();
    assert_eq!(read, r#"{"a":{"y":"éA","z":[]},"b":1.5}"#);
    assert_eq!(canonical("").unwrap(), "{}");
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    let deep = format!("{}1{}", "{\"a\":".repeat(40), "}".repeat(40));
    let deeper = format!("{}1{}", "{\"a\":".repeat(4_000), "}".repeat(4_000));
    for (written, why) in [
        (r#"{"a":1,"a":2}"#, "twice"),
        (r#"{"a":{"b":1,"b":1}}"#, "twice"),
        (r#"{"id":1193041984757002262}"#, "as strings"),
        (r#"{"id":-1193041984757002262}"#, "as strings"),
        (r#"{"id":11930419847570022620000}"#, "as strings"),
        (r#"{"a":"\u0000"}"#, "U+0000"),
        (r#"{"\u0000":1}"#, "U+0000"),
        (r#"[1]"#, "not a JSON object"),
        (r#""fs.read""#, "not a JSON object"),
        (r#"{"a":1"#, "not a JSON object"),
        (r#"{"a":1} {"b":2}"#, "not a JSON object"),
        (&deep, "levels deep"),
        (&deeper, "recursion limit"),
    ] {
        let refused = canonical(written).unwrap_err();
        assert!(refused.contains(why), "{written:.40}: {refused}");
    }
    assert!(canonical(&format!("{{\"a\":\"{}\"}}", "x".repeat(300_000))).is_err());
}

#[test]
fn a_digest_is_of_everything_and_of_nothing_else() {
    let run = |n| RunId::from_parts(Timestamp::UNIX_EPOCH, n);
    let bound =
        |sha: Option<&str>| vec![Binding { name: "file:a".into(), sha256: sha.map(str::to_owned) }];
    let all = [
        payload_sha256(run(1), "c1", "fs.write", "{}", &[]),
        payload_sha256(run(2), "c1", "fs.write", "{}", &[]),
        payload_sha256(run(1), "c2", "fs.write", "{}", &[]),
        payload_sha256(run(1), "c1", "fs.patch", "{}", &[]),
        payload_sha256(run(1), "c1", "fs.write", "{\"a\":1}", &[]),
        payload_sha256(run(1), "c1f", "s.write", "{}", &[]),
        payload_sha256(run(1), "c1", "fs.write", "{}", &bound(None)),
        payload_sha256(run(1), "c1", "fs.write", "{}", &bound(Some("00"))),
    ];
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    assert_eq!(all[0], payload_sha256(run(1), "c1", "fs.write", "{}", &[]));
}

proptest! {
    #[test]
    fn reading_never_panics_and_what_is_read_reads_the_same(written in "\\PC{0,200}") {
        if let Ok(read) = Arguments::parse(&written) {
            prop_assert_eq!(Arguments::parse(&read.text).unwrap(), read);
        }
    }
}

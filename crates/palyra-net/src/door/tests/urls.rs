//! Tricky URLs, and what is decided about each.

use super::*;

const ALLOWED: Option<ErrorCode> = None;
const ADDRESS: Option<ErrorCode> = Some(ErrorCode::NetAddressRefused);
const URL: Option<ErrorCode> = Some(ErrorCode::NetUrlRefused);
const PORT: Option<ErrorCode> = Some(ErrorCode::NetPortRefused);
const NO_ADDRESS: Option<ErrorCode> = Some(ErrorCode::NetNoAddress);

const TABLE: &[(&str, Option<ErrorCode>)] = &[
    // What is fetched.
    ("https://public.example/", ALLOWED),
    ("http://public.example:8080/a?b=c#d", ALLOWED),
    ("https://PUBLIC.EXAMPLE/", ALLOWED),
    ("https://public.example./", ALLOWED),
    ("https://bücher.example/", ALLOWED),
    ("https://ＰＵＢＬＩＣ.example/", ALLOWED),
    ("https://pub\u{ad}lic.example/", ALLOWED),
    ("https://public。example/", ALLOWED),
    ("https://public.e%78ample/", ALLOWED),
    ("https://two.example/", ALLOWED),
    ("https://1.1.1.1/", ALLOWED),
    ("https://0x1010101/", ALLOWED),
    ("https://[2606:4700:4700::1111]/", ALLOWED),
    ("https://[::ffff:1.1.1.1]/", ALLOWED),
    ("https://[64:ff9b::1.1.1.1]/", ALLOWED),
    ("https://public.example/?url=http://127.0.0.1/", ALLOWED),
    ("https://public.example/@127.0.0.1/", ALLOWED),
    ("https://public.example#@127.0.0.1/", ALLOWED),
    ("https://public.example?@127.0.0.1/", ALLOWED),
    // This machine, written in the ways in which an IPv4 address can be.
    ("http://127.0.0.1/", ADDRESS),
    ("http://127.0.0.1./", ADDRESS),
    ("http://127.1/", ADDRESS),
    ("http://127.0.1/", ADDRESS),
    ("http://2130706433/", ADDRESS),
    ("http://0x7f000001/", ADDRESS),
    ("http://0X7F.0.0.1/", ADDRESS),
    ("http://0x7f.0x0.0x0.0x1/", ADDRESS),
    ("http://017700000001/", ADDRESS),
    ("http://0177.0.0.01/", ADDRESS),
    ("http://00000177.0.0.1/", ADDRESS),
    ("http://0177.0x0.0.1/", ADDRESS),
    ("http://127.255.255.254/", ADDRESS),
    ("http://１２７.０.０.１/", ADDRESS),
    ("http://①②⑦.⓪.⓪.①/", ADDRESS),
    ("http://127。0。0。1/", ADDRESS),
    ("http://127．0．0．1/", ADDRESS),
    ("http://%31%32%37.0.0.1/", ADDRESS),
    ("http://127%2e0%2e0%2e1/", ADDRESS),
    ("http://127.0.0.\u{ad}1/", ADDRESS),
    ("http:127.0.0.1/", ADDRESS),
    ("http:/127.0.0.1/", ADDRESS),
    ("http:////127.0.0.1/", ADDRESS),
    ("http://127.0.0.1:80@/", URL),
    ("http://0/", ADDRESS),
    ("http://0.0.0.0/", ADDRESS),
    ("http://0x0/", ADDRESS),
    ("http://00/", ADDRESS),
    // The same in IPv6.
    ("http://[::1]/", ADDRESS),
    ("http://[0:0:0:0:0:0:0:1]/", ADDRESS),
    ("http://[0000::0001]/", ADDRESS),
    ("http://[::]/", ADDRESS),
    ("http://[::ffff:127.0.0.1]/", ADDRESS),
    ("http://[::ffff:7f00:1]/", ADDRESS),
    ("http://[0:0:0:0:0:ffff:7f00:0001]/", ADDRESS),
    ("http://[::127.0.0.1]/", ADDRESS),
    ("http://[::ffff:0:127.0.0.1]/", ADDRESS),
    ("http://[64:ff9b::127.0.0.1]/", ADDRESS),
    ("http://[64:ff9b:1::10.0.0.1]/", ADDRESS),
    ("http://[2002:7f00:1::]/", ADDRESS),
    ("http://[2001:0:a00:1::80ff:fffe]/", ADDRESS),
    ("http://[fe80::1]/", ADDRESS),
    ("http://[fe80::1%25eth0]/", URL),
    ("http://[fe80::1%eth0]/", URL),
    ("http://[::1%251]/", URL),
    ("http://[fd12::1]/", ADDRESS),
    ("http://[fec0::1]/", ADDRESS),
    ("http://[ff02::1]/", ADDRESS),
    ("http://[2001:db8::1]/", ADDRESS),
    ("http://%5B::1%5D/", URL),
    ("http://::1/", URL),
    // Other networks that are not public.
    ("http://10.0.0.1/", ADDRESS),
    ("http://10.1/", ADDRESS),
    ("http://172.16.0.1/", ADDRESS),
    ("http://192.168.257/", ADDRESS),
    ("http://3232235777/", ADDRESS),
    ("http://100.64.0.1/", ADDRESS),
    ("http://198.18.0.1/", ADDRESS),
    ("http://224.0.0.1/", ADDRESS),
    ("http://255.255.255.255/", ADDRESS),
    ("http://240.0.0.1/", ADDRESS),
    ("http://192.0.2.1/", ADDRESS),
    // Where clouds hand out credentials.
    ("http://169.254.169.254/latest/meta-data/", ADDRESS),
    ("http://2852039166/", ADDRESS),
    ("http://0xa9fea9fe/", ADDRESS),
    ("http://0251.0376.0251.0376/", ADDRESS),
    ("http://169.254.43518/", ADDRESS),
    ("http://[::ffff:a9fe:a9fe]/", ADDRESS),
    ("http://[fd00:ec2::254]/", ADDRESS),
    ("http://168.63.129.16/", ADDRESS),
    ("http://100.100.100.200/", ADDRESS),
    ("http://192.0.0.192/", ADDRESS),
    ("http://metadata.google.internal/", ADDRESS),
    ("http://METADATA.google.internal./", ADDRESS),
    ("http://instance-data.ec2.internal/", ADDRESS),
    // Names that lead inside.
    ("http://localhost/", ADDRESS),
    ("http://LOCALHOST./", ADDRESS),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", ADDRESS),
    ("http://app.localhost/", ADDRESS),
    ("http://inside.example/", ADDRESS),
    ("http://10.0.0.1.nip.example/", ADDRESS),
    ("http://mapped.example/", ADDRESS),
    ("http://nat64.example/", ADDRESS),
    ("http://sixtofour.example/", ADDRESS),
    ("http://zero.example/", ADDRESS),
    // Answers that are public and are not: one of them is enough.
    ("http://mixed.example/", ADDRESS),
    ("http://mixed6.example/", ADDRESS),
    ("http://last.example/", ADDRESS),
    // Credentials, and hosts that only look like one.
    ("http://user:pass@public.example/", URL),
    ("http://public.example@127.0.0.1/", URL),
    ("http://public.example:80@127.0.0.1/", URL),
    ("http://127.0.0.1\\@public.example/", URL),
    ("http://public.example\\@127.0.0.1/", URL),
    ("http:\\\\127.0.0.1/", URL),
    ("http://127.0.0.1\t.public.example/", URL),
    ("ht\ntp://127.0.0.1/", URL),
    ("http://127.0.0.1\0.public.example/", URL),
    ("http://public.example%00.evil.example/", URL),
    ("http://public.example%0d%0a/", URL),
    ("http://public..example/", URL),
    ("http://127.0.0.1.0.0/", URL),
    ("http://1.2.3.256/", URL),
    ("http://0x7f.0.0.0x1g/", NO_ADDRESS),
    ("http://4294967296/", URL),
    ("http://09.0.0.1/", URL),
    // Other schemes.
    ("file:///etc/passwd", URL),
    ("gopher://127.0.0.1:6379/_INFO", URL),
    ("ftp://public.example/", URL),
    ("dict://127.0.0.1:11211/stats", URL),
    ("ldap://127.0.0.1/", URL),
    ("jar:http://127.0.0.1!/", URL),
    ("view-source:http://127.0.0.1/", URL),
    ("127.0.0.1", URL),
    ("//127.0.0.1/", URL),
    // Ports of others.
    ("http://public.example:22/", PORT),
    ("http://public.example:25/", PORT),
    ("http://public.example:6667/", PORT),
    ("http://public.example:0/", PORT),
    ("http://public.example:65536/", URL),
    ("http://public.example:-1/", URL),
    // Names that are none.
    ("http://empty.example/", NO_ADDRESS),
    ("http://nowhere.example/", NO_ADDRESS),
];

#[test]
fn each_url_is_decided_as_the_table_says() {
    assert!(TABLE.len() >= 60);
    let door = door(&[], Names);
    for (url, expected) in TABLE {
        let decided = decide(&door, url, &Hosts::Any);
        assert_eq!(decided.as_ref().err().map(NetError::code), *expected, "{url}: {decided:?}");
    }
}

#[test]
fn no_error_repeats_a_url() {
    let door = door(&[], Names);
    for (url, _) in TABLE {
        let secret = format!("{url}?token=geheim");
        if let Err(error) = decide(&door, &secret, &Hosts::Any) {
            let told = format!("{error} {error:?}");
            assert!(!told.contains("geheim"), "{told}");
            assert!(!told.contains("pass@") && !told.contains("user:"), "{told}");
        }
    }
}

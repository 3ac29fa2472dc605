use super::*;

fn refused(change: impl FnOnce(&mut NetConfig)) -> String {
    let mut config = NetConfig::default();
    change(&mut config);
    match config.check() {
        Err(NetError::Config { what }) => what,
        other => panic!("{config:?}: {other:?}"),
    }
}

#[test]
fn the_defaults_can_work() {
    assert_eq!(NetConfig::default().check(), Ok(()));
}

#[test]
fn each_refusal_names_its_option() {
    type Change = fn(&mut NetConfig);
    let changes: &[(&str, Change)] = &[
        ("net.allow ", |config| config.allow = vec!["http://a.example".into()]),
        ("net.allow_ports", |config| config.allow_ports = vec![0]),
        ("net.proxy", |config| config.proxy = "proxy.example:3128".into()),
        ("net.proxy", |config| config.proxy = "https://proxy.example".into()),
        ("net.proxy", |config| config.proxy = "socks5h://proxy.example:1080".into()),
        ("net.proxy", |config| config.proxy = "socks5://proxy.example".into()),
        ("net.proxy", |config| config.proxy = "http://proxy.example/path".into()),
        ("net.proxy", |config| config.proxy = "http://user:geheim@proxy.example".into()),
        ("net.proxy", |config| config.proxy = "http://".into()),
        ("net.ca_file", |config| config.ca_file = "ca.pem".into()),
        ("net.connect_timeout", |config| config.connect_timeout = Duration::ZERO),
        ("net.max_time", |config| config.max_time = Duration::ZERO),
        ("net.max_time", |config| config.max_time = Duration::MAX),
        ("net.max_redirects", |config| config.max_redirects = 21),
        ("net.max_header_bytes", |config| config.max_header_bytes = 0),
        ("net.max_header_bytes", |config| config.max_header_bytes = u32::MAX),
        ("net.max_bytes", |config| config.max_bytes = 0),
        ("net.max_at_once", |config| config.max_at_once = 0),
    ];
    for (option, change) in changes {
        let told = refused(change);
        assert!(told.contains(option), "{option}: {told}");
        assert!(!told.contains("geheim"), "{told}");
    }
}

#[test]
fn a_proxy_is_written_as_its_host_is_compared() {
    for (proxy, url, host) in [
        ("http://Proxy.Example:3128/", "http://proxy.example:3128", "proxy.example"),
        ("http://proxy.example", "http://proxy.example:80", "proxy.example"),
        ("socks5://PROXY.example.:1080", "socks5://proxy.example:1080", "proxy.example"),
        ("socks5://127.0.0.1:1080", "socks5://127.0.0.1:1080", "127.0.0.1"),
        ("socks5://[::1]:1080", "socks5://[::1]:1080", "[::1]"),
    ] {
        let config = NetConfig { proxy: proxy.into(), ..NetConfig::default() };
        let through = config.through().unwrap().unwrap();
        assert_eq!((through.url.as_str(), through.host.to_string().as_str()), (url, host));
    }
}

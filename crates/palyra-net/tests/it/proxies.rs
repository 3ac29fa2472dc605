//! Proxies: only the one that the operator has named, and only for what is judged first.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use palyra_common::error::ErrorCode;
use palyra_net::NetConfig;

use crate::server::{Server, ok};
use crate::world::{Names, code, get, guard, open, with_names};

/// Where a child finds what it is to fetch.
const CHILD: &str = "PALYRA_NET_TEST_URL";

/// A proxy that looks nothing up: it takes addresses, connects there, and keeps what it was told.
struct Socks {
    server: Server,
    asked: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Socks {
    fn start() -> Self {
        let asked: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
        let told = Arc::clone(&asked);
        let server = Server::greeting(
            Arc::new(move |mut stream| {
                let target = handshake(&mut stream)?;
                told.lock().unwrap().push(target);
                pass_on(&stream, target);
                None
            }),
            |_, _| {},
        );
        Self { server, asked }
    }

    fn config(&self, host: &str) -> NetConfig {
        NetConfig { proxy: format!("socks5://{host}:{}", self.server.port()), ..open() }
    }

    fn asked(&self) -> Vec<SocketAddr> {
        self.asked.lock().unwrap().clone()
    }
}

/// RFC 1928, for IPv4 addresses and without a login; names are not understood.
fn handshake(stream: &mut TcpStream) -> Option<SocketAddr> {
    let mut greeting = [0; 2];
    stream.read_exact(&mut greeting).ok()?;
    stream.read_exact(&mut vec![0; usize::from(greeting[1])]).ok()?;
    stream.write_all(&[5, 0]).ok()?;
    let mut request = [0; 10];
    stream.read_exact(&mut request[..4]).ok()?;
    if request[..4] != [5, 1, 0, 1] {
        return None;
    }
    stream.read_exact(&mut request[4..]).ok()?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
    let [_, _, _, _, a, b, c, d, high, low] = request;
    let port = u16::from_be_bytes([high, low]);
    Some((Ipv4Addr::new(a, b, c, d), port).into())
}

fn pass_on(near: &TcpStream, target: SocketAddr) {
    let far = TcpStream::connect(target).unwrap();
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
    let _ = std::io::copy(&mut &far, &mut &*near);
}

#[tokio::test]
async fn a_socks_proxy_is_asked_for_the_address_that_was_judged() {
    let server = Server::answering(ok("hello"));
    let socks = Socks::start();
    let names = Arc::new(
        Names::default()
            .with("a.example", &[&["127.0.0.1"]])
            // The proxy itself needs no leave.
            .with("proxy.example", &[&["127.0.0.1"]]),
    );
    for proxy in ["127.0.0.1", "proxy.example"] {
        let guard = with_names(socks.config(proxy), &names);
        for host in ["a.example", "127.0.0.1"] {
            let url = format!("http://{host}:{}/", server.port());
            let answer = guard.fetch(get(url)).await.unwrap();
            assert_eq!(answer.body, "hello", "{host} through {proxy}");
        }
    }
    assert_eq!(socks.asked(), [server.address; 4]);
}

#[tokio::test]
async fn no_proxy_is_asked_for_what_is_not_open() {
    let socks = Socks::start();
    let plain = Server::answering(ok("from a proxy"));
    let http = NetConfig { proxy: plain.url("").replace("127.0.0.1", "proxy.example"), ..open() };
    for config in [socks.config("proxy.example"), http] {
        let names = Names::default()
            .with("inside.example", &[&["10.0.0.1"]])
            .with("proxy.example", &[&["127.0.0.2"]])
            .with("mixed.example", &[&["127.0.0.1", "10.0.0.1"]]);
        let guard = with_names(config, &Arc::new(names));
        for host in ["10.0.0.1", "[::1]", "inside.example", "mixed.example", "proxy.example"] {
            let result = guard.fetch(get(format!("http://{host}:8080/"))).await;
            assert_eq!(code(&result), Some(ErrorCode::NetAddressRefused), "{host}: {result:?}");
        }
    }
    assert_eq!((socks.server.connections(), plain.connections()), (0, 0));
}

/// The address of a name changes between judging and connecting, and the second one is judged too.
#[tokio::test]
async fn a_socks_proxy_is_never_asked_for_a_second_answer_unjudged() {
    let socks = Socks::start();
    let names = Arc::new(Names::default().with("a.example", &[&["127.0.0.1"], &["10.0.0.1"]]));
    let guard = with_names(socks.config("127.0.0.1"), &names);
    let result = guard.fetch(get("http://a.example:8080/")).await;
    assert!(result.is_err());
    assert_eq!(socks.asked(), []);
}

#[tokio::test]
async fn an_http_proxy_is_asked_for_the_whole_url() {
    let proxy = Server::answering(ok("from a proxy"));
    let names = Arc::new(
        Names::default()
            .with("a.example", &[&["127.0.0.1"]])
            .with("proxy.example", &[&["127.0.0.1"]]),
    );
    let through = format!("http://proxy.example:{}", proxy.port());
    let config = NetConfig { proxy: through, ..open() };
    let answer = with_names(config, &names).fetch(get("http://a.example/b?c")).await.unwrap();
    assert_eq!(answer.body, "from a proxy");
    assert_eq!(proxy.asked()[0].line, "GET http://a.example/b?c HTTP/1.1");
}

/// Variables of the environment cannot be changed in a process with threads, so it is another one.
#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    if let Ok(url) = std::env::var(CHILD) {
        let answer = guard(open()).fetch(get(url)).await.unwrap();
        println!("fetched: {}", String::from_utf8_lossy(&answer.body));
        return;
    }
    let proxy = Server::answering(ok("from a proxy"));
    let server = Server::answering(ok("straight"));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "proxies::proxies_of_the_environment_are_not_used", "--nocapture"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, proxy.url(""));
    }
    let output = child.env(CHILD, server.url("/")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("fetched: straight"), "{told}");
    assert_eq!((proxy.connections(), server.connections()), (0, 1));
}

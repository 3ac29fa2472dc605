//! https: who proves what, and what it may not lead to.

use std::sync::Arc;

use palyra_common::error::ErrorCode;
use palyra_net::{NetConfig, NetError, RedirectFlaw};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::{Asked, Connection, Server, ok, redirect, wait_for_the_end};
use crate::world::{Names, SHORT, code, get, open, with_names};

/// A server that proves to be `here.example`, and an authority's file for those who trust it.
struct Secure {
    server: Server,
    folder: tempfile::TempDir,
}

impl Secure {
    fn start(script: impl Fn(&Asked, &mut dyn Connection) + Send + Sync + 'static) -> Self {
        let own = rcgen::generate_simple_self_signed(["here.example".to_owned()]).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let server = Server::greeting(
            Arc::new(move |stream| {
                let tls = ServerConnection::new(Arc::clone(&config)).ok()?;
                Some(Box::new(StreamOwned::new(tls, stream)))
            }),
            script,
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), own.cert.pem()).unwrap();
        Self { server, folder }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/?q=geheim", self.server.port())
    }

    fn trusting(&self) -> NetConfig {
        NetConfig { ca_file: self.folder.path().join("ca.pem"), ..open() }
    }
}

fn names() -> Arc<Names> {
    let here: &[&[&str]] = &[&["127.0.0.1"]];
    Arc::new(Names::default().with("here.example", here).with("there.example", here))
}

#[tokio::test]
async fn a_host_proves_that_it_is_what_it_is_called() {
    let secure = Secure::start(|_, out| drop(out.write_all(ok("hello").as_bytes())));
    let guard = with_names(secure.trusting(), &names());
    for host in ["here.example", "here.example."] {
        assert_eq!(guard.fetch(get(secure.url(host))).await.unwrap().body, "hello", "{host}");
    }
    for (config, host) in [
        (open(), "here.example"),
        (secure.trusting(), "there.example"),
        (secure.trusting(), "127.0.0.1"),
    ] {
        let result = with_names(config, &names()).fetch(get(secure.url(host))).await;
        assert_eq!(code(&result), Some(ErrorCode::NetTls), "{host}: {result:?}");
        let error = result.unwrap_err();
        assert!(!error.was_sent());
        assert!(!format!("{error} {error:?}").contains("geheim"), "{error}");
    }
}

#[tokio::test]
async fn https_does_not_lead_back_to_http() {
    let plain = Server::answering(ok("anybody can read this"));
    let place = format!("http://here.example:{}/", plain.port());
    let secure = Secure::start(move |_, out| drop(out.write_all(redirect(302, &place).as_bytes())));
    let guard = with_names(secure.trusting(), &names());
    let error = guard.fetch(get(secure.url("here.example"))).await.unwrap_err();
    let at = format!("here.example:{}", secure.server.port());
    assert_eq!(error, NetError::Redirect { at, flaw: RedirectFlaw::Downgrade });
    assert_eq!(plain.connections(), 0);
}

#[tokio::test]
async fn http_may_lead_to_https() {
    let secure = Secure::start(|_, out| drop(out.write_all(ok("hello").as_bytes())));
    let plain = Server::answering(redirect(301, &secure.url("here.example")));
    let guard = with_names(secure.trusting(), &names());
    let answer = guard.fetch(get(plain.url("/"))).await.unwrap();
    assert_eq!(answer.final_url, secure.url("here.example"));
}

#[tokio::test]
async fn who_never_proves_anything_is_given_up() {
    let silent = Server::greeting(
        Arc::new(|mut stream| {
            wait_for_the_end(&mut stream);
            None
        }),
        |_, _| {},
    );
    let config = NetConfig { connect_timeout: SHORT, ..open() };
    let url = format!("https://here.example:{}/", silent.port());
    let result = with_names(config, &names()).fetch(get(url)).await;
    assert_eq!(code(&result), Some(ErrorCode::NetUnreachable), "{result:?}");
    assert!(!result.unwrap_err().was_sent());
}

#[tokio::test]
async fn what_does_not_speak_tls_is_told_so() {
    let plain = Server::greeting(
        Arc::new(|mut stream| {
            let _ = std::io::Write::write_all(&mut stream, ok("hello").as_bytes());
            wait_for_the_end(&mut stream);
            None
        }),
        |_, _| {},
    );
    let url = format!("https://here.example:{}/", plain.port());
    let result = with_names(open(), &names()).fetch(get(url)).await;
    assert_eq!(code(&result), Some(ErrorCode::NetTls), "{result:?}");
}

#[test]
fn a_file_without_certificates_is_no_authority() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    for content in [None, Some(""), Some("not a certificate")] {
        if let Some(content) = content {
            std::fs::write(&ca_file, content).unwrap();
        }
        let config = NetConfig { ca_file: ca_file.clone(), ..open() };
        let made = palyra_net::Guard::new(config, names());
        let error = made.err().unwrap();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert!(error.to_string().contains("net.ca_file"), "{error}");
    }
}

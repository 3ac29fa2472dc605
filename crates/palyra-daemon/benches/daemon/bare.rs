//! The reference: an axum handler with nothing around it, on the runtime that the daemon uses, in a
//! process of its own.

use std::net::SocketAddr;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use palyra_testkit::process::Process;

use crate::daemon::LIMIT;

const ARGUMENT: &str = "--bare-server";

/// The size of the answer, if this process is to be the server.
pub(crate) fn asked_for(arguments: &[String]) -> Option<usize> {
    let at = arguments.iter().position(|argument| argument == ARGUMENT)?;
    Some(arguments[at + 1].parse().unwrap())
}

/// Serves until it is killed.
pub(crate) fn serve(size: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let text = "x".repeat(size.checked_sub(2).unwrap());
        let body = axum::body::Bytes::from(format!("\"{text}\""));
        let answer = move || {
            let body = body.clone();
            async move { ([(CONTENT_TYPE, "application/json")], body) }
        };
        let router = Router::new().route("/admin/v1/status", get(answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on {}", listener.local_addr().unwrap());
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            stream.set_nodelay(true).unwrap();
        });
        axum::serve(listener, router).await.unwrap();
    });
}

pub(crate) struct Bare {
    pub(crate) process: Process,
    pub(crate) http: SocketAddr,
}

impl Bare {
    pub(crate) fn start(size: usize) -> Self {
        let process = Process::builder(std::env::current_exe().unwrap())
            .args([ARGUMENT.to_owned(), size.to_string()])
            .spawn()
            .unwrap();
        let line = process.wait_for_line("listening on ", LIMIT).unwrap();
        let http = line.rsplit(' ').next().unwrap().parse().unwrap();
        Self { process, http }
    }
}

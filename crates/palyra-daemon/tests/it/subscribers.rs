//! A thousand who follow something in which nothing happens, over HTTP, and as many over gRPC.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::daemon::{Daemon, LIMIT};
use crate::gateway::{ALL, Talk, client_on};

const EACH: usize = 1_000;
/// Streams of one connection.
const TOGETHER: usize = 50;
/// Before the first is counted: what is there for all of them is not counted as theirs.
const WARM: usize = 50;
/// The most that one may cost, in KiB.
const MOST_KIB: f64 = 64.0;

const CONFIG: &str = "[http]\nmax_connections = 2048\nmax_requests = 4096\n\
                      max_requests_per_principal = 0\nrequests_per_second = 0\n";

/// Who reads server-sent events.
struct Reader(BufReader<TcpStream>);

impl Reader {
    async fn open(http: SocketAddr, path: String, bearer: String) -> Self {
        let mut stream = TcpStream::connect(http).await.unwrap();
        let ask = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\n{bearer}\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.unwrap();
        let mut reader = Self(BufReader::with_capacity(1 << 10, stream));
        assert!(reader.line().await.starts_with("HTTP/1.1 200"));
        reader
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(LIMIT, self.0.read_line(&mut line)).await;
        assert!(read.expect("nothing came").unwrap() > 0, "the stream has ended");
        line
    }

    /// Reads up to a line that begins so.
    async fn until(mut self, begins: &'static str) -> Self {
        while !self.line().await.starts_with(begins) {}
        self
    }
}

/// What is followed, half of it each.
struct World {
    daemon: Daemon,
    run: String,
    secret: String,
}

impl World {
    async fn readers(&self, count: usize) -> Vec<Reader> {
        let bearer = format!("Authorization: Bearer {}", self.secret);
        let mut opening = JoinSet::new();
        for number in 0..count {
            let (http, bearer) = (self.daemon.http, bearer.clone());
            let (path, last) = match number % 2 {
                0 => (format!("/admin/v1/runs/{}/events", self.run), "event: approval.requested"),
                _ => ("/console/v1/events".to_owned(), "id: "),
            };
            opening.spawn(async move { Reader::open(http, path, bearer).await.until(last).await });
        }
        opening.join_all().await
    }

    async fn talks(&self, count: usize) -> Vec<Talk> {
        let mut opening = JoinSet::new();
        for _ in 0..count.div_ceil(TOGETHER) {
            let channel = self.daemon.endpoint().connect().await.unwrap();
            for _ in 0..TOGETHER {
                let (mut client, run) =
                    (client_on(channel.clone(), &self.secret), self.run.clone());
                opening.spawn(async move {
                    let mut talk = Talk::attach(&mut client, &run, 0).await;
                    talk.attached().await;
                    talk.until("approval.requested").await;
                    talk
                });
            }
        }
        opening.join_all().await
    }

    fn resident_kib(&self) -> f64 {
        let path = format!("/proc/{}/status", self.daemon.process.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_of_each_are_cheap_and_are_all_told() {
    let (daemon, _folder) = Daemon::with_config(CONFIG);
    let run = daemon.say(&daemon.begin(), "write notes.txt: buy milk");
    daemon.until_run(&run, "waiting_for_approval");
    let secret = daemon.token(&ALL).1;
    let world = World { daemon, run, secret };
    drop((world.readers(WARM).await, world.talks(WARM).await));

    let nobody = world.resident_kib();
    let readers = world.readers(EACH).await;
    let with_readers = world.resident_kib();
    let talks = world.talks(EACH).await;
    let with_both = world.resident_kib();
    let (of_reader, of_talk) =
        ((with_readers - nobody) / EACH as f64, (with_both - with_readers) / EACH as f64);
    println!("{of_reader:.1} KiB for each of {EACH} over HTTP, {of_talk:.1} KiB over gRPC");
    assert!(of_reader < MOST_KIB && of_talk < MOST_KIB, "{of_reader} KiB and {of_talk} KiB");

    assert_eq!(world.daemon.decide(&world.daemon.question(), "deny").status, 200);
    let mut told = JoinSet::new();
    for reader in readers {
        // It is on the tape and in the feed.
        told.spawn(async move { drop(reader.until("event: approval.decided").await) });
    }
    for mut talk in talks {
        told.spawn(async move {
            let (seen, _) = talk.until_over().await;
            assert_eq!(seen.last().unwrap().kind, "run.finished");
        });
    }
    assert_eq!(told.join_all().await.len(), 2 * EACH);
}

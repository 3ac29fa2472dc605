//! A client of `palyra.gateway.v1`, made of the description that everybody gets.

use palyra_common::StableErrorEnvelope;
use tokio::sync::mpsc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use crate::daemon::{Daemon, LIMIT};
use proto::gateway_service_client::GatewayServiceClient;
use proto::run_stream_request::Request as Asks;
use proto::run_stream_response::Event;

pub(crate) mod proto {
    #![allow(clippy::all, dead_code, unreachable_pub, unused_qualifications, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/outside/palyra.gateway.v1.rs"));
}

pub(crate) const ALL: [&str; 7] = [
    "status:read",
    "sessions:read",
    "sessions:write",
    "approvals:read",
    "approvals:decide",
    "messages:send",
    "channels:read",
];

pub(crate) type Client = GatewayServiceClient<InterceptedService<Channel, Bearer>>;

#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl Daemon {
    /// A client that may do everything.
    pub(crate) async fn client(&self) -> Client {
        self.client_with(&self.token(&ALL).1).await
    }

    pub(crate) async fn client_with(&self, secret: &str) -> Client {
        client_on(self.endpoint().connect().await.unwrap(), secret)
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.running.grpc)).unwrap()
    }
}

pub(crate) fn client_on(channel: Channel, secret: &str) -> Client {
    let bearer = Bearer(format!("Bearer {secret}").parse().unwrap());
    GatewayServiceClient::with_interceptor(channel, bearer)
}

/// A stream of a run.
pub(crate) struct Talk {
    pub(crate) say: mpsc::Sender<proto::RunStreamRequest>,
    told: Streaming<proto::RunStreamResponse>,
}

/// What is told of an entry: its number, its kind and the rest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) seq: i64,
    pub(crate) kind: String,
    pub(crate) payload: serde_json::Value,
}

impl Talk {
    pub(crate) async fn open(client: &mut Client, first: Asks) -> Self {
        let (say, said) = mpsc::channel(16);
        say.send(request("first", first)).await.unwrap();
        let said = futures_util::stream::unfold(said, async |mut said: mpsc::Receiver<_>| {
            let next = said.recv().await?;
            Some((next, said))
        });
        let told = client.run_stream(said).await.unwrap().into_inner();
        Self { say, told }
    }

    pub(crate) async fn start(client: &mut Client, text: &str) -> Self {
        let text = text.to_owned();
        let start = proto::StartRun { text, ..Default::default() };
        Self::open(client, Asks::Start(start)).await
    }

    pub(crate) async fn attach(client: &mut Client, run: &str, after: i64) -> Self {
        let attach = proto::AttachRun { run_id: run.to_owned(), after_seq: after };
        Self::open(client, Asks::Attach(attach)).await
    }

    pub(crate) async fn ask(&self, name: &str, what: Asks) {
        self.say.send(request(name, what)).await.unwrap();
    }

    /// What comes next; nothing at a good end.
    pub(crate) async fn try_next(&mut self) -> Result<Option<Event>, Status> {
        let next = tokio::time::timeout(LIMIT, self.told.message()).await.expect("nothing came");
        Ok(next?.map(|next| next.event.unwrap()))
    }

    pub(crate) async fn next(&mut self) -> Event {
        self.try_next().await.unwrap().expect("the stream has ended")
    }

    pub(crate) async fn attached(&mut self) -> proto::RunAttached {
        match self.next().await {
            Event::Attached(attached) => attached,
            other => panic!("{other:?}"),
        }
    }

    /// The next entry, whatever is answered before it.
    pub(crate) async fn entry(&mut self) -> Entry {
        loop {
            match self.next().await {
                Event::Entry(found) => return entry(found),
                Event::Answered(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// All entries up to the first of a kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Entry> {
        let mut all = vec![self.entry().await];
        while all.last().unwrap().kind != kind {
            all.push(self.entry().await);
        }
        all
    }

    /// All entries until there is no more to be told of the run.
    pub(crate) async fn until_over(&mut self) -> (Vec<Entry>, proto::RunOver) {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Event::Entry(found) => all.push(entry(found)),
                Event::Answered(_) => {}
                Event::Over(over) => return (all, over),
                other => panic!("{other:?}"),
            }
        }
    }

    /// What was answered to a request, and the entries before that.
    pub(crate) async fn answer(
        &mut self,
        name: &str,
    ) -> (Vec<Entry>, proto::request_answered::Outcome) {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Event::Entry(found) => all.push(entry(found)),
                Event::Answered(answered) => {
                    assert_eq!(answered.request_id, name);
                    return (all, answered.outcome.unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The entries that still come before the stream breaks off, and why it does.
    pub(crate) async fn until_broken(&mut self) -> (Vec<Entry>, Status) {
        let mut all = Vec::new();
        loop {
            match self.try_next().await {
                Ok(Some(Event::Entry(found))) => all.push(entry(found)),
                Ok(Some(Event::Attached(_) | Event::Answered(_))) => {}
                Ok(other) => panic!("a good end: {other:?}"),
                Err(status) => return (all, status),
            }
        }
    }
}

fn request(name: &str, what: Asks) -> proto::RunStreamRequest {
    proto::RunStreamRequest { request_id: name.to_owned(), request: Some(what) }
}

fn entry(found: proto::RunStreamEvent) -> Entry {
    assert!(found.at > 0 && found.schema_version == 1, "{found:?}");
    let payload = serde_json::from_str(&found.payload_json).unwrap();
    Entry { seq: found.seq, kind: found.kind, payload }
}

pub(crate) fn input(text: &str) -> Asks {
    Asks::Input(proto::SendInput { text: text.to_owned(), idempotency_key: None })
}

/// The text of a trailer.
pub(crate) fn trailer<'a>(status: &'a Status, name: &str) -> &'a str {
    let found = status.metadata().get(name).unwrap_or_else(|| panic!("no {name}: {status:?}"));
    found.to_str().unwrap()
}

pub(crate) fn assert_refused(status: &Status, code: Code, stable: &str) {
    assert_eq!(status.code(), code, "{status:?}");
    assert_eq!(trailer(status, "palyra-code"), stable);
    let whole = status.metadata().get_bin("palyra-error-bin").unwrap().to_bytes().unwrap();
    let whole: StableErrorEnvelope = serde_json::from_slice(&whole).unwrap();
    assert_eq!(whole.code(), stable);
    assert!(!whole.message().is_empty() && !whole.recovery_hint().is_empty(), "{whole:?}");
}

/// A run on its tape, as HTTP tells it, without the pieces of answers, which are there until the whole is.
pub(crate) fn tape(daemon: &Daemon, run: &str) -> Vec<Entry> {
    let tape = daemon.get(&format!("/admin/v1/runs/{run}/tape?limit=1000"));
    let entry = |entry: &serde_json::Value| Entry {
        seq: entry["seq"].as_i64().unwrap(),
        kind: entry["kind"].as_str().unwrap().to_owned(),
        payload: entry["payload"].clone(),
    };
    whole(tape["items"].as_array().unwrap().iter().map(entry).collect())
}

pub(crate) fn whole(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.retain(|entry| entry.kind != "model.delta");
    entries
}

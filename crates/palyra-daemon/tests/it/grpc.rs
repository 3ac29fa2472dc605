//! The gRPC API, asked by the stock client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, Stream, StreamExt};
use palyra_testkit::process::Termination;
use tokio::sync::oneshot;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::daemon::{Daemon, LIMIT};

const SERVICE: &str = "palyra.gateway.v1.GatewayService";
const GET_HEALTH: &str = "/palyra.gateway.v1.GatewayService/GetHealth";

/// Streams that one connection may have open at once.
const MAX_STREAMS: usize = 16;

/// `palyra.gateway.v1.GetHealthRequest`, with a field that no version knows.
#[derive(Clone, PartialEq, prost::Message)]
struct Question {
    #[prost(bytes = "vec", tag = "1000")]
    filler: Vec<u8>,
}

/// `palyra.gateway.v1.GetHealthResponse`.
#[derive(Clone, PartialEq, prost::Message)]
struct Health {
    #[prost(bool, tag = "1")]
    ready: bool,
    #[prost(string, tag = "3")]
    version: String,
}

async fn channel(daemon: &Daemon) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", daemon.running.grpc)).unwrap();
    endpoint.timeout(LIMIT).connect().await.unwrap()
}

fn with_token<T>(message: T, secret: &str) -> Request<T> {
    let mut request = Request::new(message);
    if !secret.is_empty() {
        let bearer = format!("Bearer {secret}").parse().unwrap();
        request.metadata_mut().insert("authorization", bearer);
    }
    request
}

async fn get_health(channel: Channel, secret: &str, filler: usize) -> Result<Health, Status> {
    let mut client = Grpc::new(channel);
    client.ready().await.unwrap();
    let question = with_token(Question { filler: vec![7; filler] }, secret);
    let path = PathAndQuery::from_static(GET_HEALTH);
    let codec: ProstCodec<Question, Health> = ProstCodec::default();
    client.unary(question, path, codec).await.map(tonic::Response::into_inner)
}

/// The question for its health, as long as the stream goes on.
async fn client_streaming<S>(channel: Channel, questions: Request<S>) -> Result<Health, Status>
where
    S: Stream<Item = Question> + Send + 'static,
{
    let mut client = Grpc::new(channel);
    client.ready().await.unwrap();
    let path = PathAndQuery::from_static(GET_HEALTH);
    let codec: ProstCodec<Question, Health> = ProstCodec::default();
    client.client_streaming(questions, path, codec).await.map(tonic::Response::into_inner)
}

/// A stream of nothing, which ends when the other half is dropped.
fn until_dropped<T: Send + 'static>()
-> (oneshot::Sender<()>, impl Stream<Item = T> + Send + 'static) {
    let (end, ended) = oneshot::channel();
    let nothing = async { ended.await.ok() }.into_stream().filter_map(|_| std::future::ready(None));
    (end, nothing)
}

fn list_services() -> ServerReflectionRequest {
    let list = MessageRequest::ListServices(String::new());
    ServerReflectionRequest { host: String::new(), message_request: Some(list) }
}

/// The names of the services, as reflection tells them.
async fn services(channel: Channel, secret: &str) -> Result<Vec<String>, Status> {
    let request = with_token(futures_util::stream::iter([list_services()]), secret);
    let mut told = ServerReflectionClient::new(channel).server_reflection_info(request).await?;
    let told = told.get_mut().message().await?.unwrap();
    match told.message_response.unwrap() {
        MessageResponse::ListServicesResponse(list) => {
            Ok(list.service.into_iter().map(|service| service.name).collect())
        }
        other => panic!("{other:?}"),
    }
}

fn assert_refused<T: std::fmt::Debug>(answer: Result<T, Status>, code: Code, stable: &str) {
    let status = answer.unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(stable), "{status:?}");
}

async fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_standard_health_service_needs_no_login() {
    let daemon = Daemon::start();
    let mut client = HealthClient::new(channel(&daemon).await);
    for service in ["", SERVICE] {
        let request = HealthCheckRequest { service: service.into() };
        let told = client.check(request).await.unwrap().into_inner();
        assert_eq!(told.status(), ServingStatus::Serving, "{service:?}");
    }
    let unknown = client.check(HealthCheckRequest { service: "nothing".into() }).await;
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn everything_else_needs_a_token_that_allows_it() {
    let daemon = Daemon::start();
    let channel = channel(&daemon).await;
    let ask = async |secret: &str| get_health(channel.clone(), secret, 0).await;
    assert_refused(ask("").await, Code::Unauthenticated, "auth/required");
    let (id, right) = daemon.token(&["status:read"]);
    let wrong: String = right.chars().rev().collect();
    assert_refused(ask(&wrong).await, Code::Unauthenticated, "auth/invalid");
    let (_, other) = daemon.token(&["metrics:read"]);
    assert_refused(ask(&other).await, Code::PermissionDenied, "auth/forbidden");
    let told = ask(&right).await.unwrap();
    assert_eq!((told.ready, told.version.as_str()), (true, env!("CARGO_PKG_VERSION")));

    let revoked = daemon.local("DELETE", &format!("/admin/v1/tokens/{id}"), "");
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_refused(ask(&right).await, Code::Unauthenticated, "auth/revoked");
}

/// Calls that have begun and do not go on take the only place of their principal: one that is not
/// answered yet, and one whose answer has begun.
///
/// Whoever looks whether the place is taken has it for a moment, so that the call that is to keep
/// it may be refused for that: then it is made again.
#[tokio::test]
async fn calls_of_one_principal_leave_room_for_others() {
    // Whoever asks again and again is not to be refused for that.
    let config = "[http]\nmax_requests_per_principal = 1\nrequests_per_second = 0\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let new = r#"{"principal": "operator:anna", "role": "viewer"}"#;
    daemon.local("POST", "/admin/v1/principals", new);
    let new = r#"{"name": "a", "scopes": ["status:read"], "principal": "operator:anna"}"#;
    let annas = daemon.local("POST", "/admin/v1/tokens", new).json();
    let [(_, slow), (_, other)] = [daemon.token(&["status:read"]), daemon.token(&["status:read"])];
    let bearer = format!("Authorization: Bearer {other}");
    let channel = channel(&daemon).await;
    let deadline = Instant::now() + LIMIT;
    let in_time = || assert!(Instant::now() < deadline, "the place is never as it should be");

    // The reason why neither gRPC nor HTTP lets another call of the principal in, if so.
    let kept_out = async || {
        in_time();
        let busy = get_health(channel.clone(), &other, 0).await.err()?;
        let status = daemon.tcp("GET", "/admin/v1/whoami", &[&bearer], "").status;
        (status == 429).then_some(busy)
    };
    let others_get_in = async |busy: Status| {
        let setting = "http.max_requests_per_principal";
        assert_refused::<()>(Err(busy), Code::ResourceExhausted, setting);
        let secret = annas["secret"].as_str().unwrap();
        assert!(get_health(channel.clone(), secret, 0).await.unwrap().ready);
    };

    'again: loop {
        let (end, questions) = until_dropped();
        let call = client_streaming(channel.clone(), with_token(questions, &slow));
        let unanswered = tokio::spawn(call);
        let busy = loop {
            match kept_out().await {
                Some(busy) => break busy,
                None if unanswered.is_finished() => continue 'again,
                None => {}
            }
        };
        others_get_in(busy).await;
        drop(end);
        unanswered.await.unwrap().unwrap_err();
        break;
    }

    let mut client = ServerReflectionClient::new(channel.clone());
    let (end, mut answered) = loop {
        in_time();
        let (end, rest) = until_dropped();
        let questions = futures_util::stream::iter([list_services()]).chain(rest);
        if let Ok(answer) = client.server_reflection_info(with_token(questions, &slow)).await {
            break (end, answer.into_inner());
        }
    };
    answered.message().await.unwrap().unwrap();
    others_get_in(kept_out().await.unwrap()).await;
    drop(end);
    assert!(answered.message().await.unwrap().is_none());
    while kept_out().await.is_some() {}
}

#[tokio::test]
async fn too_many_calls_of_one_token_are_told_to_wait() {
    let (daemon, _folder) = Daemon::with_config("[http]\nrequests_per_second = 1\n");
    let [(_, secret), (_, other)] =
        [daemon.token(&["status:read"]), daemon.token(&["status:read"])];
    let channel = channel(&daemon).await;
    let deadline = Instant::now() + LIMIT;
    let busy = loop {
        if let Err(busy) = get_health(channel.clone(), &secret, 0).await {
            break busy;
        }
        assert!(Instant::now() < deadline, "nothing is refused");
    };
    assert_refused::<()>(Err(busy), Code::ResourceExhausted, "http/busy");
    assert!(get_health(channel, &other, 0).await.unwrap().ready, "others are not kept out");
}

#[tokio::test]
async fn reflection_lists_the_services_to_those_who_may_know() {
    let daemon = Daemon::start();
    let closed = channel(&daemon).await;
    assert_refused(services(closed.clone(), "").await, Code::Unauthenticated, "auth/required");
    let (_, secret) = daemon.token(&["status:read"]);
    let told = services(closed, &secret).await.unwrap();
    assert!(told.iter().any(|name| name == SERVICE), "{told:?}");

    let (daemon, _folder) = Daemon::with_config("[grpc]\nopen_reflection = true\n");
    let open = channel(&daemon).await;
    let told = services(open.clone(), "").await.unwrap();
    assert!(told.iter().any(|name| name == SERVICE), "{told:?}");
    assert_refused(get_health(open, "", 0).await, Code::Unauthenticated, "auth/required");
}

#[tokio::test]
async fn a_message_of_more_than_a_mebibyte_is_refused() {
    let daemon = Daemon::start();
    let channel = channel(&daemon).await;
    let (_, secret) = daemon.token(&["status:read"]);
    assert!(get_health(channel.clone(), &secret, (1 << 20) - 64).await.unwrap().ready);
    let large = get_health(channel.clone(), &secret, (1 << 20) + 1).await.unwrap_err();
    assert_eq!(large.code(), Code::OutOfRange, "{large:?}");
    // Who needs no login has less to say.
    let service = "x".repeat(1 << 10);
    let large = HealthClient::new(channel).check(HealthCheckRequest { service }).await;
    assert_eq!(large.unwrap_err().code(), Code::OutOfRange);
}

/// Those beyond the limit wait until others end; who comes otherwise is served meanwhile.
#[tokio::test]
async fn the_streams_of_one_connection_are_bounded() {
    let config = format!("[grpc]\nmax_streams = {MAX_STREAMS}\n");
    let (daemon, _folder) = Daemon::with_config(&config);
    let flooded = channel(&daemon).await;
    let answered = Arc::new(AtomicUsize::new(0));
    let mut watchers = Vec::new();
    for _ in 0..2 * MAX_STREAMS {
        let (channel, answered) = (flooded.clone(), answered.clone());
        watchers.push(tokio::spawn(async move {
            let request = HealthCheckRequest { service: SERVICE.into() };
            let mut stream = HealthClient::new(channel).watch(request).await.unwrap().into_inner();
            stream.message().await.unwrap();
            answered.fetch_add(1, Ordering::SeqCst);
            // It is held open until the watcher is told to go.
            let _ = stream.message().await;
        }));
    }
    wait_until("streams", || answered.load(Ordering::SeqCst) >= MAX_STREAMS).await;
    let (_, secret) = daemon.token(&["status:read"]);
    for _ in 0..20 {
        assert!(get_health(channel(&daemon).await, &secret, 0).await.unwrap().ready);
    }
    assert_eq!(answered.load(Ordering::SeqCst), MAX_STREAMS);
    for watcher in watchers {
        watcher.abort();
    }
    let health = get_health(flooded, &secret, 0).await.unwrap();
    assert!(health.ready);
}

/// Few connections, which end after a second, or with a call under way five seconds later. A call has
/// as long, and the disk may be busy.
fn short_lived(room: usize) -> String {
    format!(
        "[http]\nmax_connections = {room}\nrequest_timeout = \"5s\"\n\
         [grpc]\nmax_connection_age = \"1s\"\n"
    )
}

/// As many as may be open, on which nothing happens.
#[tokio::test]
async fn connections_that_are_of_no_use_end_after_a_while() {
    const ROOM: usize = 2;
    let (daemon, _folder) = Daemon::with_config(&short_lived(ROOM));
    let (_, secret) = daemon.token(&["status:read"]);
    let mut idle = Vec::new();
    for _ in 0..ROOM {
        let channel = channel(&daemon).await;
        assert!(get_health(channel.clone(), &secret, 0).await.unwrap().ready);
        idle.push(channel);
    }
    let waiting = get_health(channel(&daemon).await, &secret, 0);
    assert!(tokio::time::timeout(LIMIT, waiting).await.unwrap().unwrap().ready);
}

/// The same with a call under way on each that would never end, which needs no login.
#[tokio::test]
async fn calls_that_never_end_make_room_after_a_while() {
    const ROOM: usize = 2;
    let (daemon, _folder) = Daemon::with_config(&short_lived(ROOM));
    let mut watching = Vec::new();
    for _ in 0..ROOM {
        let request = HealthCheckRequest { service: SERVICE.into() };
        let mut stream = HealthClient::new(channel(&daemon).await);
        let mut stream = stream.watch(request).await.unwrap().into_inner();
        stream.message().await.unwrap();
        watching.push(stream);
    }
    let (_, secret) = daemon.token(&["status:read"]);
    let waiting = async { get_health(channel(&daemon).await, &secret, 0).await };
    assert!(tokio::time::timeout(LIMIT, waiting).await.unwrap().unwrap().ready);
}

/// As many as may be open, none of which says what a client says first, or not all of it.
#[tokio::test]
async fn connections_that_only_hold_their_place_lose_it() {
    const ROOM: usize = 4;
    // As long as a call may take, and the disk may be busy.
    let config = format!("[http]\nmax_connections = {ROOM}\nrequest_timeout = \"5s\"\n");
    let (daemon, _folder) = Daemon::with_config(&config);
    let mut silent = Vec::new();
    for half in 0..ROOM {
        let mut stream = tokio::net::TcpStream::connect(&daemon.running.grpc).await.unwrap();
        let said = &b"PRI * HTTP/2.0"[..half];
        tokio::io::AsyncWriteExt::write_all(&mut stream, said).await.unwrap();
        silent.push(stream);
    }
    let (_, secret) = daemon.token(&["status:read"]);
    let waiting = get_health(channel(&daemon).await, &secret, 0);
    assert!(tokio::time::timeout(LIMIT, waiting).await.unwrap().unwrap().ready);
}

/// The same, and nobody's patience ends within a test.
#[tokio::test]
async fn connections_that_say_nothing_make_room() {
    const ROOM: usize = 4;
    let config = format!("[http]\nmax_connections = {ROOM}\nrequest_timeout = \"1h\"\n");
    let (daemon, _folder) = Daemon::with_config(&config);
    let mut silent = Vec::new();
    for _ in 0..ROOM {
        silent.push(tokio::net::TcpStream::connect(&daemon.running.grpc).await.unwrap());
    }
    let (_, secret) = daemon.token(&["status:read"]);
    let waiting = async { get_health(channel(&daemon).await, &secret, 0).await };
    assert!(tokio::time::timeout(LIMIT, waiting).await.unwrap().unwrap().ready);
}

/// They are told, and nobody waits for them until the last moment.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_watches_the_health_is_let_go_by_the_stop() {
    let (mut daemon, _folder) = Daemon::with_config("[http]\ndrain_timeout = \"10m\"\n");
    let mut client = HealthClient::new(channel(&daemon).await);
    let mut watched = Vec::new();
    for service in ["", SERVICE] {
        let request = HealthCheckRequest { service: service.into() };
        let mut stream = client.watch(request).await.unwrap().into_inner();
        let told = stream.message().await.unwrap().unwrap();
        assert_eq!(told.status(), ServingStatus::Serving);
        watched.push(stream);
    }
    let ended = tokio::task::block_in_place(|| daemon.process.terminate(LIMIT).unwrap());
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
    for mut stream in watched {
        let told = stream.message().await.unwrap().unwrap();
        assert_eq!(told.status(), ServingStatus::NotServing);
        assert!(matches!(stream.message().await, Ok(None) | Err(_)), "and nothing more");
    }
}

/// As `/readyz` does.
#[tokio::test(flavor = "multi_thread")]
async fn the_health_service_follows_the_database() {
    let daemon = Daemon::start();
    let mut client = HealthClient::new(channel(&daemon).await);
    let request = HealthCheckRequest { service: SERVICE.into() };
    let mut stream = client.watch(request).await.unwrap().into_inner();
    let path = daemon.process.data_dir().unwrap().join("palyra.db");
    let moved = path.with_extension("moved");
    for status in [ServingStatus::Serving, ServingStatus::NotServing, ServingStatus::Serving] {
        let told = tokio::time::timeout(LIMIT, stream.message()).await.unwrap().unwrap().unwrap();
        assert_eq!(told.status(), status);
        let (from, to) = if path.exists() { (&path, &moved) } else { (&moved, &path) };
        std::fs::rename(from, to).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_never_ends_does_not_hold_up_the_stop() {
    let (mut daemon, _folder) = Daemon::with_config("[http]\ndrain_timeout = \"1s\"\n");
    let (_, secret) = daemon.token(&["status:read"]);
    let questions =
        futures_util::stream::iter([list_services()]).chain(futures_util::stream::pending());
    let mut client = ServerReflectionClient::new(channel(&daemon).await);
    let stream = client.server_reflection_info(with_token(questions, &secret)).await;
    stream.unwrap().into_inner().message().await.unwrap();
    let ended = tokio::task::block_in_place(|| daemon.process.terminate(LIMIT).unwrap());
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
    assert!(daemon.process.logs().contains("gRPC calls under way were cut off"));
}

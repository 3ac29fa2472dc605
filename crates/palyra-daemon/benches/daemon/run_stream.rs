//! A run of many events, followed from its beginning over gRPC.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use palyra_testkit::figures::{Goal, in_turns, report};
use palyra_testkit::model_sim::{MODEL, ModelSim, Reply};
use serde_json::{Value, json};
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

use crate::bare_stream;
use crate::daemon::{Daemon, LIMIT};
use crate::proto::gateway_service_client::GatewayServiceClient;
use crate::proto::run_stream_response::Event;
use crate::proto::{AttachRun, RunStreamRequest, RunStreamResponse, run_stream_request};

const TURNS: usize = 9;
const SPAN: Duration = Duration::from_millis(1_000);
/// Answers of the model, each of which calls tools.
const ANSWERS: usize = 60;
/// Calls in one answer, each of which is a handful of events.
const CALLS: usize = 15;
/// Streams that are read at once.
const TOGETHER: usize = 4;

pub(crate) fn run(folder: &Path) {
    let sim = ModelSim::start().unwrap();
    let answered = AtomicUsize::new(0);
    sim.rule(move |_| match answered.fetch_add(1, Ordering::Relaxed) {
        0..ANSWERS => {
            (0..CALLS).fold(Reply::default(), |reply, _| reply.raw_call("time_now", "{}"))
        }
        _ => Reply::text("done"),
    });
    let daemon = Daemon::with_config(&folder.join("streams"), &thinking_with(&sim.openai_url()));
    let (run, token) = (long_run(&daemon), daemon.token());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ours = runtime.block_on(connect(&daemon.running.grpc));
    let told = runtime.block_on(follow(ours.clone(), &token, &run));
    assert!(told.len() > 2 * ANSWERS * CALLS, "{} events", told.len());
    let file = folder.join("told");
    bare_stream::keep(&file, &told);
    let (_process, bare) = bare_stream::start(&file);
    let theirs = runtime.block_on(connect(&bare));
    let events = |channel: &Channel| {
        let counted = runtime.block_on(followed(channel, &token, &run, told.len()));
        let (count, took) = counted;
        count as f64 / took.as_secs_f64()
    };
    let measured = in_turns(TURNS, || events(&ours), || events(&theirs));
    report("grpc.runstream_ratio", "events/s", measured, Some(Goal::AtLeast(0.5)));
}

fn thinking_with(url: &str) -> String {
    format!(
        "[models]\ndefault = [\"sim\"]\n\n\
         [models.providers.sim]\nkind = \"openai\"\nbase_url = \"{url}\"\n\n\
         [models.entries.sim]\nprovider = \"sim\"\nmodel = \"{MODEL}\"\n"
    )
}

async fn connect(address: &impl Display) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    endpoint.tcp_nodelay(true).connect().await.unwrap()
}

/// How many events were read in a while, and in which.
async fn followed(channel: &Channel, token: &str, run: &str, each: usize) -> (usize, Duration) {
    let begun = Instant::now();
    let mut reading = tokio::task::JoinSet::new();
    for _ in 0..TOGETHER {
        let (channel, token, run) = (channel.clone(), token.to_owned(), run.to_owned());
        reading.spawn(async move {
            let mut count = 0;
            while begun.elapsed() < SPAN {
                let told = follow(channel.clone(), &token, &run).await.len();
                assert_eq!(told, each);
                count += told;
            }
            count
        });
    }
    let counts = reading.join_all().await;
    (counts.into_iter().sum(), begun.elapsed())
}

async fn follow(channel: Channel, token: &str, run: &str) -> Vec<RunStreamResponse> {
    let attach = AttachRun { run_id: run.to_owned(), after_seq: 0 };
    let first = RunStreamRequest {
        request_id: String::new(),
        request: Some(run_stream_request::Request::Attach(attach)),
    };
    let mut request = Request::new(futures_util::stream::iter([first]));
    let bearer = format!("Bearer {token}").parse().unwrap();
    request.metadata_mut().insert("authorization", bearer);
    let told = GatewayServiceClient::new(channel).run_stream(request).await.unwrap();
    let (mut told, mut all) = (told.into_inner(), Vec::new());
    while let Some(next) = told.message().await.unwrap() {
        all.push(next);
    }
    assert!(matches!(all.last().unwrap().event, Some(Event::Over(_))));
    all
}

/// A run in which a tool is called again and again, once it is over.
fn long_run(daemon: &Daemon) -> String {
    let agent = daemon.local("GET /admin/v1/agents/default", &Value::Null);
    let (mut spec, version) = (agent["spec"].clone(), agent["version"].clone());
    spec["limits"]["tool_calls"] = json!(ANSWERS * CALLS);
    spec["limits"]["turns"] = json!(ANSWERS + 1);
    daemon.local("PUT /admin/v1/agents/default", &json!({ "spec": spec, "version": version }));
    let session = daemon.local("POST /admin/v1/sessions", &json!({ "title": "bench" }));
    let said = format!("POST /admin/v1/sessions/{}/messages", session["id"].as_str().unwrap());
    let run = daemon.local(&said, &json!({ "text": "hello" }))["run"].as_str().unwrap().to_owned();
    let deadline = Instant::now() + LIMIT;
    while daemon.local(&format!("GET /admin/v1/runs/{run}"), &Value::Null)["phase"] != "completed" {
        assert!(Instant::now() < deadline, "{}", daemon.process.logs());
        std::thread::sleep(Duration::from_millis(10));
    }
    run
}

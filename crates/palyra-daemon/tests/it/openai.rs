//! What the clients of OpenAI meet under `/v1`.

mod leaving;

use std::path::{Path, PathBuf};

use palyra_testkit::model_sim::{MODEL, ModelSim};
use palyra_testkit::process::{Process, Stream};
use serde_json::{Value, json};

use crate::daemon::{Answer, Daemon, LIMIT};

const COMPLETIONS: &str = "/v1/chat/completions";
/// What `scripts/bootstrap test` installs.
const PYTHON: &str = include_str!("../../../../scripts/model-sdks.txt");
const NODE: &str = include_str!("../../../../scripts/openai-npm/package.json");

/// A daemon whose agents think with the simulator, and a token for `/v1` alone.
pub(crate) struct Facade {
    pub(crate) sim: ModelSim,
    pub(crate) daemon: Daemon,
    pub(crate) folder: tempfile::TempDir,
    bearer: String,
}

impl Facade {
    fn start() -> Self {
        Self::with_http("")
    }

    /// With more options of `[http]`.
    fn with_http(options: &str) -> Self {
        let sim = ModelSim::start().unwrap();
        let (daemon, folder) = Daemon::with_config(&format!(
            "[http]\nrequests_per_second = 0\nrequest_timeout = \"1s\"\n{options}\n\
             [models]\ndefault = [\"sim\"]\ntitles = false\n\n\
             [models.providers.sim]\nkind = \"openai\"\nbase_url = \"{}\"\n\n\
             [models.entries.sim]\nprovider = \"sim\"\nmodel = \"{MODEL}\"\nimages = true\n",
            sim.openai_url()
        ));
        let bearer = format!("Authorization: Bearer {}", daemon.token(&["chat:use"]).1);
        Self { sim, daemon, folder, bearer }
    }

    fn ask(&self, headers: &[&str], request: &Value) -> Answer {
        let mut all = vec![self.bearer.as_str(), "Content-Type: application/json"];
        all.extend(headers);
        self.daemon.tcp("POST", COMPLETIONS, &all, &request.to_string())
    }

    /// What is said in the last question to the model, as a text.
    fn asked(&self) -> String {
        self.sim.asked().last().unwrap().body["messages"].to_string()
    }

    fn replays(&self, run: &str) {
        let replayed = self.daemon.get(&format!("/admin/v1/runs/{run}/replay"));
        assert_eq!(replayed["same"], true, "{replayed:#}");
    }
}

fn says(text: &str) -> Value {
    json!({ "model": "default", "messages": [{ "role": "user", "content": text }] })
}

fn with(mut request: Value, name: &str, value: Value) -> Value {
    request[name] = value;
    request
}

/// The text of a whole answer.
fn text(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

fn run(answer: &Answer) -> String {
    answer.header("x-palyra-run").unwrap().to_owned()
}

/// The error of an answer, as these clients read it.
fn error(answer: &Answer) -> (u16, String) {
    let error = &answer.json()["error"];
    for field in ["message", "type", "code"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{answer:?}");
    }
    assert_eq!(error["param"], Value::Null);
    (answer.status, error["code"].as_str().unwrap().to_owned())
}

/// What came in pieces.
fn pieces(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{answer:?}");
    let data = answer.body.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    let data = data.filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    named
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from)
        .join("palyra")
}

/// Runs a client against a daemon, which it has to like.
fn pleases(program: &Path, script: &str, first: &[&str]) {
    assert!(program.exists(), "{} is missing: run scripts/bootstrap test", program.display());
    let facade = Facade::start();
    let url = format!("http://{}", facade.daemon.http);
    let (token, powerless) = (facade.bearer.replace("Authorization: Bearer ", ""), "status:read");
    let powerless = facade.daemon.token(&[powerless]).1;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(script);
    let mut client = Process::builder(program)
        .arg(script)
        .args(first)
        .args([url.as_str(), token.as_str(), powerless.as_str()])
        // Nothing on the way to this machine itself.
        .env("NO_PROXY", "127.0.0.1")
        .spawn()
        .unwrap();
    let ended = client.wait(LIMIT).unwrap();
    assert!(ended.success(), "{}\n{}", client.logs(), facade.daemon.process.logs());
    assert_eq!(client.lines(Stream::Stdout).unwrap(), ["content"]);
    // Nothing was asked a second time behind somebody's back, and all of it would be decided again.
    let questions = facade.daemon.get("/admin/v1/approvals?state=pending");
    assert_eq!(questions["items"].as_array().unwrap().len(), 2, "{questions}");
    let runs = facade.daemon.get("/admin/v1/runs?limit=200");
    for run in runs["items"].as_array().unwrap() {
        facade.replays(run["id"].as_str().unwrap());
    }
    assert_eq!(facade.daemon.get("/admin/v1/sessions")["items"], json!([]));
}

#[test]
fn the_official_client_for_python_is_content() {
    let python = match std::env::var_os("PALYRA_TEST_MODEL_SDKS") {
        Some(python) => PathBuf::from(python),
        None => {
            let version = PYTHON.lines().find_map(|line| line.strip_prefix("openai==")).unwrap();
            cache().join(format!("model-sdks-{version}/bin/python"))
        }
    };
    pleases(&python, "openai_sdk.py", &[]);
}

#[test]
fn the_official_client_for_node_is_content() {
    let folder = match std::env::var_os("PALYRA_TEST_OPENAI_NPM") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let package: Value = serde_json::from_str(NODE).unwrap();
            let version = package["dependencies"]["openai"].as_str().unwrap();
            cache().join(format!("openai-npm-{version}"))
        }
    };
    assert!(folder.exists(), "{} is missing: run scripts/bootstrap test", folder.display());
    let paths = std::env::var_os("PATH").unwrap();
    let node = std::env::split_paths(&paths).map(|path| path.join("node")).find(|n| n.exists());
    pleases(&node.unwrap_or_default(), "openai_sdk.cjs", &[folder.to_str().unwrap()]);
}

#[test]
fn a_token_for_chat_opens_nothing_else() {
    let facade = Facade::start();
    let bearer = [facade.bearer.as_str()];
    assert_eq!(facade.daemon.tcp("GET", "/v1/models", &bearer, "").status, 200);
    let closed =
        ["agents", "sessions", "runs", "approvals", "status", "secrets", "tokens", "events"];
    for path in closed {
        let answer = facade.daemon.tcp("GET", &format!("/admin/v1/{path}"), &bearer, "");
        assert_eq!((answer.status, &*answer.code()), (403, "auth/forbidden"), "{path}");
    }
    let (_, other) = facade.daemon.token(&["sessions:write", "agents:read"]);
    let other = [&*format!("Authorization: Bearer {other}")];
    let refused = facade.daemon.tcp("GET", "/v1/models", &other, "");
    assert_eq!(error(&refused), (403, "auth/forbidden".to_owned()));
    let nobody = facade.daemon.tcp("GET", "/v1/models", &[], "");
    assert_eq!(error(&nobody), (401, "auth/required".to_owned()));
    let nothing = facade.daemon.tcp("GET", "/v1/embeddings", &bearer, "");
    assert_eq!(error(&nothing), (404, "common/not_found".to_owned()));
    assert_eq!(nothing.header("x-should-retry"), Some("false"));
}

/// Whoever may only chat is a stranger to the agent; who may talk to it as an operator is none.
#[test]
fn words_of_a_caller_are_trusted_as_far_as_the_caller_is() {
    let facade = Facade::start();
    let request = json!({ "model": "default", "messages": [
        { "role": "system", "content": "CANARY" }, { "role": "user", "content": "hello" }] });
    assert_eq!(facade.ask(&[], &request).status, 200);
    let asked = facade.sim.asked().last().unwrap().body["messages"].clone();
    assert_eq!(asked[0]["role"], "system");
    assert!(!asked[0]["content"].as_str().unwrap().contains("CANARY"), "{asked}");
    let marked = asked[1].to_string();
    assert_eq!((marked.matches("<untrusted").count(), &asked[1]["role"]), (2, &json!("user")));
    let (_, operator) = facade.daemon.token(&["chat:use", "sessions:write"]);
    let headers = [&*format!("Authorization: Bearer {operator}"), "Content-Type: application/json"];
    let answer = facade.daemon.tcp("POST", COMPLETIONS, &headers, &request.to_string());
    assert_eq!(
        text(&answer),
        "You said: Instructions of the program through which this comes:\n\
                               CANARY\nhello"
    );
    let asked = facade.sim.asked().last().unwrap().body["messages"].clone();
    assert!(!asked[0]["content"].as_str().unwrap().contains("CANARY"), "{asked}");
}

#[test]
fn a_needed_approval_is_named_and_the_same_request_gets_the_answer_after_it() {
    let facade = Facade::start();
    let request = says("use fs.write {\"path\": \"notes.md\", \"content\": \"milk\"}");
    let key = ["Idempotency-Key: k"];
    let refused = facade.ask(&key, &request);
    assert_eq!(error(&refused), (409, "chat/approval_needed".to_owned()));
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    let details = refused.json()["error"]["details"].clone();
    let (question, run) = (facade.daemon.question(), details["run"].as_str().unwrap());
    assert_eq!(
        (&details["approval"], run),
        (&question["id"], question["asker"]["run"].as_str().unwrap())
    );
    let link = format!("http://{}/?section=approvals&", facade.daemon.http);
    assert!(details["link"].as_str().unwrap().starts_with(&link), "{details}");
    facade.daemon.until_run(run, "waiting_for_approval");
    // Nothing has changed by then, and nobody is asked twice.
    assert_eq!(error(&facade.ask(&key, &request)).0, 409);
    assert_eq!(facade.daemon.decide(&question, "approve").status, 200);
    let answer = facade.ask(&key, &request);
    assert!(text(&answer).starts_with("The tool said:"), "{answer:?}");
    assert_eq!(answer.header("x-palyra-run"), Some(run));
    let other = facade.ask(&key, &says("something else"));
    assert_eq!(error(&other), (409, "common/conflict".to_owned()));
    facade.replays(run);
    let runs = facade.daemon.get("/admin/v1/runs");
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");

    let streamed = facade.ask(&[], &with(request, "stream", json!(true)));
    let pieces = pieces(&streamed);
    assert_eq!(pieces.last().unwrap()["error"]["code"], "chat/approval_needed", "{pieces:?}");
    assert!(!streamed.body.contains("[DONE]"), "it is no end");
    facade.daemon.until_run(&self::run(&streamed), "waiting_for_approval");
}

#[test]
fn a_session_that_is_kept_remembers_and_takes_only_what_is_new() {
    let facade = Facade::start();
    let header = ["X-Palyra-Session: a"];
    let first = facade.ask(&header, &says("my name is Ann"));
    let said = text(&first);
    let next = json!({ "model": "default", "messages": [
        { "role": "user", "content": "my name is Ann" },
        { "role": "assistant", "content": said },
        { "role": "user", "content": "what is my name?" }] });
    text(&facade.ask(&header, &next));
    assert_eq!(facade.asked().matches("what is my name?").count(), 1);
    assert_eq!(facade.asked().matches("my name is Ann").count(), 2, "once said, once answered");
    // The name of a user is one, too, and of another session.
    text(&facade.ask(&[], &with(says("hello"), "user", json!("b"))));
    assert!(!facade.asked().contains("Ann"), "{}", facade.asked());
    text(&facade.ask(&[], &with(says("and now"), "user", json!("b"))));
    assert!(facade.asked().contains("hello"), "{}", facade.asked());
    let sessions = facade.daemon.get("/admin/v1/sessions");
    let surfaces: Vec<_> =
        sessions["items"].as_array().unwrap().iter().map(|of| of["surface"].clone()).collect();
    assert_eq!(surfaces, [json!("openai"), json!("openai")]);
    // It belongs to the token.
    let (_, other) = facade.daemon.token(&["chat:use"]);
    let headers =
        [&*format!("Authorization: Bearer {other}"), "Content-Type: application/json", header[0]];
    let body = says("who am I?").to_string();
    assert_eq!(facade.daemon.tcp("POST", COMPLETIONS, &headers, &body).status, 200);
    assert!(!facade.asked().contains("Ann"), "{}", facade.asked());
}

#[test]
fn pictures_reach_the_model() {
    let facade = Facade::start();
    let picture = "data:image/png;base64,iVBORw0KGgo=";
    let message = |url: &str| {
        let image = json!({ "type": "image_url", "image_url": { "url": url } });
        let words = json!({ "type": "text", "text": "what is this?" });
        json!({ "model": "default", "messages": [{ "role": "user", "content": [words, image] }] })
    };
    let answer = facade.ask(&[], &message(picture));
    text(&answer);
    assert_eq!(facade.asked().matches(picture).count(), 1, "{}", facade.asked());
    facade.replays(&run(&answer));
    for url in ["http://127.0.0.1/a.png", "data:text/html;base64,aGk=", "data:image/png;base64,?"] {
        assert_eq!(error(&facade.ask(&[], &message(url))).0, 400, "{url}");
    }
}

#[test]
fn what_cannot_be_had_is_refused_and_what_only_shades_an_answer_is_passed_over() {
    let facade = Facade::start();
    let call = json!({ "id": "c", "type": "function",
        "function": { "name": "weather", "arguments": "{}" } });
    let asks = json!({ "role": "assistant", "tool_calls": [call] });
    let user = json!({ "role": "user", "content": "hello" });
    for (name, value) in [
        ("n", json!(2)),
        ("stop", json!("x")),
        ("logprobs", json!(true)),
        ("response_format", json!({ "type": "json_object" })),
        ("tool_choice", json!("required")),
        ("parallel_tool_calls", json!(false)),
        ("temperature", json!(3)),
        ("max_tokens", json!(0)),
        ("messages", json!([{ "role": "assistant", "content": "hi" }])),
        ("messages", json!([user, asks, user])),
        ("messages", json!([{ "role": "tool", "content": "x" }])),
        ("tools", json!([{ "type": "function", "function": { "name": "a.b" } }])),
        ("tools", json!([{ "type": "function", "function": { "name": "channel_send" } }])),
    ] {
        let refused = facade.ask(&[], &with(says("hello"), name, value.clone()));
        assert_eq!(error(&refused), (400, "common/invalid_input".to_owned()), "{name}: {value}");
    }
    let shaded = ["top_p", "seed", "presence_penalty", "store", "metadata", "service_tier"];
    let request = shaded.iter().fold(says("hello"), |request, name| with(request, name, json!(1)));
    let answer = facade.ask(&[], &with(request, "tool_choice", json!("none")));
    assert!(text(&answer).contains("hello"), "{answer:?}");
}

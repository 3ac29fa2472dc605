//! The model simulator is what it says, also to the clients of those whom it imitates.

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_testkit::model_sim::{Fault, Gate, ModelSim, Reply};
use palyra_testkit::process::{Process, Stream};

use crate::world::LONG;

/// What `scripts/bootstrap test` installs.
const PACKAGES: &str = include_str!("../../../../scripts/model-sdks.txt");

fn python() -> PathBuf {
    let program = match std::env::var_os("PALYRA_TEST_MODEL_SDKS") {
        Some(program) => PathBuf::from(program),
        None => {
            let version = PACKAGES.lines().find_map(|line| line.strip_prefix("openai=="));
            cache().join(format!("palyra/model-sdks-{}/bin/python", version.unwrap()))
        }
    };
    assert!(
        program.exists(),
        "{} is missing: run scripts/bootstrap test, or set PALYRA_TEST_MODEL_SDKS to a Python that \
         has the packages of scripts/model-sdks.txt",
        program.display()
    );
    program
}

fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    named
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from)
}

#[test]
fn the_official_clients_accept_the_simulator() {
    let sim = ModelSim::start().unwrap();
    sim.require_key("sim-key");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/model_sdks.py");
    let mut run = Process::builder(python())
        .arg(script)
        .args([sim.url().as_str(), "sim-key"])
        // Nothing on the way to this machine itself.
        .env("NO_PROXY", "127.0.0.1")
        .spawn()
        .unwrap();
    let ended = run.wait(LONG).unwrap();
    assert!(ended.success(), "{}", run.logs());
    assert_eq!(run.lines(Stream::Stdout).unwrap(), ["both are content"]);
    assert_eq!(sim.asked().len(), 14);
}

#[test]
fn the_program_says_where_it_is() {
    let mut program = Process::builder(env!("CARGO_BIN_EXE_model-sim"))
        .args(["--port", "0", "--fault", "cut", "--fault", "slow"])
        .spawn()
        .unwrap();
    let told = program.wait_for_line("openai http://127.0.0.1:", LONG).unwrap();
    assert!(told.ends_with("/v1"), "{told}");
    program.wait_for_line("model sim-1", LONG).unwrap();
    program.kill_dash_nine().unwrap();
    let mut refused =
        Process::builder(env!("CARGO_BIN_EXE_model-sim")).args(["--fault", "x"]).spawn().unwrap();
    assert_eq!(refused.wait(LONG).unwrap().code(), Some(2));
    assert!(
        refused.logs().contains("there is no fault x; there are slow, cut"),
        "{}",
        refused.logs()
    );
}

#[test]
fn every_fault_that_has_a_name_can_be_had() {
    for name in Fault::NAMES {
        name.parse::<Fault>().unwrap();
    }
}

/// What tests of processes wait for.
#[test]
fn a_client_that_goes_away_is_noticed() {
    let sim = ModelSim::start().unwrap();
    sim.reply(Reply::text("one two").with(Fault::Gated(Gate::shut())));
    let address = sim.url().replace("http://", "");
    let mut client = TcpStream::connect(&address).unwrap();
    let body = r#"{"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]}"#;
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\n");
    write!(client, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    sim.wait_for_asked(1, LONG).unwrap();
    assert_eq!(sim.left(), 0);
    assert!(sim.wait_for_left(1, Duration::from_millis(1)).is_err());
    drop(client);
    sim.wait_for_left(1, LONG).unwrap();
}

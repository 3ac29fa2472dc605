use super::*;

async fn run(argv: &[&str], limit: Duration) -> Result<KeyBytes, String> {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    within(&argv, limit).await.map_err(|problem| problem.to_string())
}

#[tokio::test]
async fn a_command_prints_the_key() {
    let key = crate::entropy::random_key();
    let text = key::write(&key);
    let read = run(&["printf", "%s\\n", &text], LIMIT).await.unwrap();
    assert!(*read == *key);
}

#[tokio::test]
async fn no_shell_reads_the_command() {
    let refused = run(&["echo x; echo", "y"], LIMIT).await.err().unwrap();
    assert!(refused.contains("cannot be started"), "{refused}");
    let refused = run(&["echo", "$HOME"], LIMIT).await.err().unwrap();
    assert!(refused.contains("not a key"), "{refused}");
}

#[tokio::test]
async fn a_command_that_fails_is_told_without_its_arguments() {
    let refused = run(&["sh", "-c", "echo canary; exit 3"], LIMIT).await.err().unwrap();
    assert!(refused.contains("the command sh ended with exit status: 3"), "{refused}");
    assert!(!refused.contains("canary"), "{refused}");
}

#[tokio::test]
async fn a_command_has_bounded_time_and_output() {
    let refused = run(&["yes"], LIMIT).await.err().unwrap();
    assert!(refused.contains("printed more than 4096 bytes"), "{refused}");

    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    // Long enough for a shell to start; the command would take ten minutes.
    let refused = run(&slow(&started), Duration::from_secs(3)).await.err().unwrap();
    assert!(refused.contains("took longer than 3 s"), "{refused}");
    is_gone(child_of(&started).await).await;
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_ends_with_what_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let argv = slow(&started);
    let child = tokio::select! {
        _ = run(&argv, 6 * LIMIT) => panic!("it takes ten minutes"),
        child = child_of(&started) => child,
    };
    is_gone(child).await;
}

/// A command that says in a file what it has started, and waits for that.
fn slow(started: &std::path::Path) -> [&str; 4] {
    let script = "sleep 600 & echo $! > $0.new; mv $0.new $0; wait";
    ["sh", "-c", script, started.to_str().unwrap()]
}

async fn child_of(started: &std::path::Path) -> rustix::process::Pid {
    let written = async {
        loop {
            match std::fs::read_to_string(started) {
                Ok(id) => return id,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let id = tokio::time::timeout(6 * LIMIT, written).await.expect("it does not start");
    rustix::process::Pid::from_raw(id.trim().parse().unwrap()).unwrap()
}

async fn is_gone(id: rustix::process::Pid) {
    let gone = async {
        while rustix::process::test_kill_process(id).is_ok() && !is_zombie(id) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("its child lives on");
}

/// As it is called, with the time that it has.
#[tokio::test]
async fn whoever_needs_the_key_does_not_wait_for_ever() {
    let argv = ["sleep", "600"].map(str::to_owned);
    let read = tokio::time::timeout(6 * LIMIT, read(&argv)).await.expect("it waits on");
    let refused = read.err().unwrap().to_string();
    assert!(refused.contains("took longer than 10 s"), "{refused}");
}

/// Nobody may be there to wait for an orphan.
fn is_zombie(id: rustix::process::Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero()));
    status.is_ok_and(|status| status.contains(") Z "))
}

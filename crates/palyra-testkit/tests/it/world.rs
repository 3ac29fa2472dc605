//! Looking at processes and files from outside.

use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough for anything on a loaded machine; never waited for when all is well.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Waits until `true_now` holds; false when it does not within [`LONG`].
pub(crate) fn eventually(true_now: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + LONG;
    while !true_now() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Whether the process runs; a zombie does not.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Whether any process has `dir` in its command line or works in it, under whatever name it has by
/// now.
pub(crate) fn any_process_in(dir: &Path) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        [cwd.to_str().unwrap_or_default(), &line]
            .iter()
            .any(|text| text.contains(dir.to_str().unwrap()))
    })
}

/// The ids of the processes that `parent` has started, by name.
pub(crate) fn children_of(parent: &str, name: &str) -> Vec<String> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let Some((head, rest)) = stat.rsplit_once(") ") else { return false };
            head.ends_with(&format!("({name}")) && rest.split(' ').nth(1) == Some(parent)
        })
        .collect()
}

/// What follows `name=` in a line.
pub(crate) fn value_of(name: &str, line: &str) -> Option<String> {
    let (_, value) = line.split_once(&format!("{name}="))?;
    value.split_whitespace().next().map(str::to_owned)
}

/// Keeps a test's child process where it is until it is killed.
pub(crate) fn stay() -> ! {
    loop {
        std::thread::park();
    }
}

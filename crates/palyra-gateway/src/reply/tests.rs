use palyra_common::ids::RunId;
use palyra_storage::new_id;

use super::{call_envelope, reply_envelope, run_of};

#[test]
fn a_name_tells_its_run() {
    let run: RunId = new_id();
    assert_eq!(run_of(&reply_envelope(run).unwrap()), Some(run));
    assert_eq!(run_of(&call_envelope(run, "t1c0").unwrap()), Some(run));
}

#[test]
fn other_names_tell_none() {
    let run: RunId = new_id();
    for name in [format!("run-{run}x"), format!("re-{run}"), "run-".to_owned(), "run-x".to_owned()]
    {
        assert_eq!(run_of(&name.parse().unwrap()), None, "{name}");
    }
}

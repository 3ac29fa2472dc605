use std::sync::Barrier;

use palyra_storage::{OpenOptions, new_id};

use super::*;

/// However those who watched leave, also all at once.
#[tokio::test]
async fn nothing_is_kept_of_a_run_that_nobody_watches() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    let streams = Streams::new(db);
    let run: RunId = new_id();
    for _ in 0..1_000 {
        let watching: Vec<_> = (0..16).map(|_| streams.follow(run, 0)).collect();
        let all_at_once = Barrier::new(watching.len());
        std::thread::scope(|scope| {
            for follow in watching {
                scope.spawn(|| {
                    all_at_once.wait();
                    drop(follow);
                });
            }
        });
        assert_eq!(streams.watched().len(), 0);
    }
}

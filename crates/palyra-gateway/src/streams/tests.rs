use std::sync::Barrier;

use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::Input;
use palyra_storage::{OpenOptions, new_id};

use super::*;
use crate::engine::{NewInput, Place, submit};

const NOW: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

fn said(text: &str) -> Input {
    Input { text: text.to_owned(), sender: "ann".into(), trust: Trust::Operator, connector: None }
}

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

/// What somebody else has written before it nobody was told of yet.
#[tokio::test]
async fn what_is_missing_before_what_is_handed_over_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    let streams = Streams::new(db.clone());
    let agent = "default".parse().unwrap();
    let begin = move |tx: &mut Tx<'_>| {
        let place = Place::Key { key: "ann", agent: &agent, surface: "test", reply_to: None };
        let input = said("one");
        submit(tx, &NewInput { place, input, answers: None, parent: None, worker: None }, NOW)
    };
    let run = db.try_write(begin).await.unwrap().run;
    let mut follow = streams.follow(run, 0);
    let numbers = |events: Vec<TapeEntry>| events.iter().map(|entry| entry.seq).collect::<Vec<_>>();
    assert_eq!(numbers(follow.next().await.unwrap()), [1, 2]);
    let more = ["two", "three"].map(|text| TapeEvent::InputMessage(said(text)));
    let lines = tape::lines(&more).unwrap();
    let add = move |tx: &mut Tx<'_>| match runs::append(tx, run, 2, NOW)? {
        Some(first) => tape::add(tx, run, first, &lines, NOW),
        None => Ok(()),
    };
    db.write(add).await.unwrap();
    let [_, three] = more;
    streams.tell(run, 4, vec![three], NOW);
    assert_eq!(numbers(follow.next().await.unwrap()), [3, 4]);
}

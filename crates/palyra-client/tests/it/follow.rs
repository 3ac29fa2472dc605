//! Following a run through connections that break and daemons that restart.

use std::time::Duration;

use palyra_client::{Absence, Client, ClientError, Followed, RunFollower};
use palyra_common::data_dir::SOCKET;
use palyra_common::ids::RunId;
use palyra_testkit::fs::ScratchDir;
use tokio::net::UnixListener;

use crate::{answer, local, with_body};

const RUN: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const PATIENCE: Duration = Duration::from_secs(60);

/// A stream of events with a chunk for each of `pieces`; without an end it was cut off.
fn events(pieces: &[&str], is_whole: bool) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let chunk = |piece: &&str| format!("{:x}\r\n{piece}\r\n", piece.len());
    let end = if is_whole { "0\r\n\r\n" } else { "" };
    head.to_owned() + &pieces.iter().map(chunk).collect::<String>() + end
}

/// An event of a tape that says `text`.
fn delta(seq: i64, text: &str) -> String {
    let payload = format!(r#"{{"turn":1,"attempt":1,"offset":0,"text":"{text}"}}"#);
    format!(
        "id: {seq}\ndata: {{\"seq\":{seq},\"at\":1,\"kind\":\"model.delta\",\"payload\":{payload}}}\n\n"
    )
}

/// There is no more.
const OVER: &str = "event: over\ndata: {}\n\n";

fn follower(client: &Client, patience: Duration) -> RunFollower {
    client.follow_run(RUN.parse::<RunId>().unwrap(), 0, patience)
}

/// What is heard, in words, until the end or an error.
async fn heard(mut follower: RunFollower) -> (Vec<String>, Option<ClientError>) {
    let mut heard = Vec::new();
    loop {
        match follower.next().await {
            Ok(Some(Followed::Event(entry))) => {
                heard.push(format!("{} {}", entry.seq, entry.event.kind().as_str()));
            }
            Ok(Some(Followed::Lost)) => heard.push("lost".to_owned()),
            Ok(Some(Followed::Back)) => heard.push("back".to_owned()),
            Ok(None) => return (heard, None),
            Err(error) => return (heard, Some(error)),
        }
    }
}

/// Follows a run whose daemon gives these answers, one connection each. Gives what is heard, and what
/// was asked: the path, and the last event that was seen.
async fn followed(answers: &[String]) -> (Vec<String>, Vec<(String, Option<String>)>) {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let serve = async {
        let mut asked = Vec::new();
        for told in answers {
            let head = answer(listener.accept().await.unwrap().0, told).await;
            let path = head.split(' ').nth(1).unwrap().trim_start_matches("/admin/v1/runs/");
            let last = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
            asked.push((path.replace(RUN, "RUN"), last.map(str::to_owned)));
        }
        asked
    };
    let client = local(folder.path());
    let both = async { tokio::join!(heard(follower(&client, PATIENCE)), serve) };
    let ((heard, error), asked) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert!(error.is_none(), "{error:?}");
    (heard, asked)
}

fn asked(all: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    all.iter().map(|(path, last)| ((*path).to_owned(), last.map(str::to_owned))).collect()
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again_where_it_was() {
    let (first, third) = (delta(1, "a"), delta(3, "b"));
    // An event in two pieces, a sign of life, and the beginning of one that never ends.
    let broken = events(&[&first[..20], &first[20..], ": alive\n\n", &third[..30]], false);
    // The first comes a second time.
    let whole = events(&[&first, &third, &delta(4, "c"), OVER], true);
    let (heard, was_asked) = followed(&[broken, whole]).await;
    assert_eq!(
        heard,
        ["1 model.delta", "lost", "back", "3 model.delta", "4 model.delta"],
        "nothing is missed, and nothing comes twice"
    );
    let expected = [("RUN/events", Some("0")), ("RUN/events", Some("1"))];
    assert_eq!(was_asked, asked(&expected));
}

#[tokio::test]
async fn an_end_is_one_only_if_the_daemon_says_that_there_is_no_more() {
    let answers = [
        // A daemon that stops ends its connections in order.
        events(&[&delta(1, "a")], true),
        events(&[], true),
        events(&[&delta(2, "b")], true),
        // Nothing is left but to hear that.
        events(&[OVER], true),
    ];
    let (heard, was_asked) = followed(&answers).await;
    assert_eq!(heard, ["1 model.delta", "2 model.delta"]);
    let last: Vec<_> = was_asked.iter().filter_map(|(_, last)| last.as_deref()).collect();
    assert_eq!(last, ["0", "1", "1", "2"]);
}

#[tokio::test]
async fn what_a_newer_daemon_tells_is_passed_over_and_counts_as_seen() {
    let newer = "id: 7\ndata: {\"seq\":7,\"at\":1,\"kind\":\"dream.begun\",\"payload\":{}}\n\n";
    let answers = [events(&[&delta(1, "a"), newer], true), events(&[OVER], true)];
    let (heard, was_asked) = followed(&answers).await;
    assert_eq!(heard, ["1 model.delta"]);
    assert_eq!(was_asked[1].1.as_deref(), Some("7"));
}

/// Nothing has happened yet when the first connection is lost: the second asks for what has since.
#[tokio::test]
async fn the_feed_is_followed_from_where_it_was() {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let happened = |seq: i64| {
        format!(
            "id: {seq}\ndata: {{\"seq\":{seq},\"at\":1,\"kind\":\"connector.started\",\
             \"subject\":\"connector:echo\",\"body\":{{}}}}\n\n"
        )
    };
    let answers = [
        events(&["id: 7\n\n"], false),
        events(&[&happened(8)], true),
        events(&[&happened(8), &happened(11)], true),
    ];
    let serve = async {
        let mut asked = Vec::new();
        for told in &answers {
            let head = answer(listener.accept().await.unwrap().0, told).await;
            assert!(head.starts_with("GET /console/v1/events HTTP/1.1\r\n"), "{head}");
            let last = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
            asked.push(last.map(str::to_owned));
        }
        asked
    };
    let client = local(folder.path());
    let mut follower = client.follow_feed(None, PATIENCE);
    let follow = async {
        let mut heard = Vec::new();
        while heard.len() < 4 {
            heard.push(match follower.next().await.unwrap() {
                Followed::Event(event) => event.seq.to_string(),
                Followed::Lost => "lost".to_owned(),
                Followed::Back => "back".to_owned(),
            });
        }
        heard
    };
    let both = async { tokio::join!(follow, serve) };
    let (heard, asked) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(heard, ["lost", "back", "8", "11"]);
    assert_eq!(asked, [None, Some("7".to_owned()), Some("8".to_owned())]);
}

#[tokio::test]
async fn a_daemon_that_refuses_is_not_asked_again() {
    let folder = ScratchDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
    let body = r#"{"code":"common/not_found","message":"there is no run","recovery_hint":"Look.",
                   "retryable":false}"#;
    let refusal = with_body("404 Not Found", body);
    let serve = async { answer(listener.accept().await.unwrap().0, refusal).await };
    let client = local(folder.path());
    let ((heard, error), _) = tokio::join!(heard(follower(&client, PATIENCE)), serve);
    assert!(heard.is_empty(), "{heard:?}");
    assert_eq!(error.unwrap().envelope().code(), "common/not_found");
}

#[tokio::test]
async fn a_daemon_that_stays_away_is_not_waited_for_for_ever() {
    let folder = ScratchDir::new().unwrap();
    let client = local(folder.path());
    let (heard, error) = heard(follower(&client, Duration::from_millis(200))).await;
    assert_eq!(heard, ["lost"], "that is told once");
    assert_eq!(error.unwrap().envelope().code(), "client/daemon_not_running");
}

#[tokio::test(start_paused = true)]
async fn an_absence_ends_when_the_daemon_was_seen() {
    let away = || ClientError::NotRunning { data_dir: "/d".into() };
    let mut absence = Absence::new(Duration::from_secs(10));
    for _ in 0..2 {
        assert!(!absence.lasts());
        let since = tokio::time::Instant::now();
        let mut tries = 0;
        while absence.wait(away()).await.is_ok() {
            tries += 1;
        }
        let waited = since.elapsed();
        assert!((10..=11).contains(&waited.as_secs()), "{waited:?}");
        assert!((10..20).contains(&tries), "less often with time: {tries}");
        assert!(absence.lasts());
        absence.end();
    }
    let forbidden = ClientError::NotPermitted { socket: "/d/s".into() };
    absence.wait(forbidden).await.unwrap_err();
}

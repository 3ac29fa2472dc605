use palyra_common::ErrorCode;
use palyra_common::api::ChatFinish;
use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::{ModelFinish, RunEnd, RunLifecyclePhase, Trust};
use palyra_common::tape::{
    Brought, BroughtTool, Call, ModelAbandoned, ModelCompleted, ModelDelta, RunFinished, Said,
    TapeEvent, ToolCompleted,
};
use palyra_common::time::Timestamp;

use super::telling::{Comes, News, Telling};

fn run() -> RunId {
    RunId::from_parts(Timestamp::UNIX_EPOCH, 7)
}

fn delta(attempt: u32, offset: u64, text: &str) -> TapeEvent {
    TapeEvent::ModelDelta(ModelDelta { turn: 1, attempt, offset, text: text.into() })
}

fn abandoned(said: Option<&str>) -> TapeEvent {
    let said = said.map(|text| Said { text: text.into(), trust: Trust::Operator });
    TapeEvent::ModelAbandoned(ModelAbandoned {
        turn: 1,
        attempt: 1,
        reason: "lost".into(),
        charged_tokens: 0,
        charged_micros: 0,
        said,
        interrupted: false,
    })
}

fn completed(turn: u32, text: &str, tools: &[&str]) -> TapeEvent {
    let call = |(n, tool): (usize, &&str)| Call {
        id: format!("t{turn}c{n}"),
        tool: (*tool).into(),
        arguments: "{}".into(),
    };
    TapeEvent::ModelCompleted(ModelCompleted {
        turn,
        attempt: 1,
        model: "m".into(),
        passed_over: Vec::new(),
        text: text.into(),
        calls: tools.iter().enumerate().map(call).collect(),
        finish: ModelFinish::Stop,
        input_tokens: 3,
        output_tokens: 4,
        cost_micros: 0,
        prompt_sha256: String::new(),
        trust: Trust::Operator,
    })
}

fn finished(end: RunEnd, answer: &str) -> TapeEvent {
    let failed = matches!(end, RunEnd::ModelFailed | RunEnd::TokenLimit | RunEnd::BudgetSpent);
    let phase = if failed { RunLifecyclePhase::Failed } else { RunLifecyclePhase::Completed };
    let (answer, detail) = (answer.to_owned(), Some("by a test".to_owned()));
    TapeEvent::RunFinished(RunFinished { phase, end, answer, detail, hint: None, limits: None })
}

/// All words that a client is told, and how it ends.
fn told(events: &[TapeEvent]) -> (String, News) {
    told_as(Comes::InPieces, events)
}

fn told_as(comes: Comes, events: &[TapeEvent]) -> (String, News) {
    let mut telling = Telling::new(run(), comes);
    let (mut words, mut end) = (String::new(), None);
    for news in events.iter().flat_map(|event| telling.read(event)) {
        match news {
            News::Words(more) => words.push_str(&more),
            news => end = end.or(Some(news)),
        }
    }
    (words, end.expect("it has an end"))
}

fn code(news: News) -> Option<ErrorCode> {
    match news {
        News::Failed(envelope) => envelope.known_code(),
        News::Words(_) | News::MayWait | News::Over(..) => None,
    }
}

fn stop() -> News {
    News::Over(ChatFinish::Stop, Vec::new())
}

#[test]
fn words_are_told_once_whether_they_streamed_or_not() {
    let end = finished(RunEnd::Answered, "hello there");
    let whole = [completed(1, "hello there", &[]), end.clone()];
    let streamed = [delta(1, 0, "hel"), delta(1, 3, "lo th"), whole[0].clone(), end.clone()];
    // The first pieces are gone from the tape.
    let late = [delta(1, 3, "lo th"), whole[0].clone(), end];
    for tape in [&whole[..], &streamed, &late] {
        assert_eq!(told(tape), ("hello there".to_owned(), stop()), "{tape:?}");
    }
}

#[test]
fn what_is_said_on_the_way_is_a_part_of_the_answer() {
    let tape = [
        delta(1, 0, "let me "),
        completed(1, "let me see", &["own"]),
        completed(2, "done", &[]),
        finished(RunEnd::Answered, "done"),
    ];
    assert_eq!(told(&tape), ("let me see\n\ndone".to_owned(), stop()));
}

#[test]
fn an_attempt_that_goes_on_with_the_same_words_is_no_second_one() {
    let tape = [
        delta(1, 0, "hello"),
        abandoned(None),
        delta(2, 0, "he"),
        delta(2, 2, "llo wor"),
        completed(1, "hello world", &[]),
        finished(RunEnd::Answered, "hello world"),
    ];
    assert_eq!(told(&tape), ("hello world".to_owned(), stop()));
}

#[test]
fn an_attempt_with_other_words_is_told_as_that() {
    let other = [delta(1, 0, "hello"), abandoned(None), delta(2, 0, "hey")];
    let (words, end) = told(&other);
    assert_eq!((words.as_str(), code(end)), ("hello", Some(ErrorCode::ChatStartedOver)));
    // Also one of which nothing streamed.
    let other = [delta(1, 0, "hello"), abandoned(None), completed(1, "hey", &[])];
    let (words, end) = told(&other);
    assert_eq!((words.as_str(), code(end)), ("hello", Some(ErrorCode::ChatStartedOver)));
    // Whoever was told nothing of the first is told the second.
    let end = finished(RunEnd::Answered, "hey");
    let whole = [other[0].clone(), abandoned(None), completed(1, "hey", &[]), end];
    assert_eq!(told_as(Comes::AsAWhole, &whole), ("hey".to_owned(), stop()));
    let end = finished(RunEnd::Answered, "hey");
    let silent = [abandoned(None), completed(1, "hey", &[]), end];
    assert_eq!(told(&silent), ("hey".to_owned(), stop()));
}

#[test]
fn what_was_said_when_the_time_was_up_stands() {
    let note = "\n\n[I stopped: the time limit is reached]";
    // What was told cannot be taken back, not even a blank.
    for (said, whole) in [("it is", "it is "), ("it is so", "it is so")] {
        let end = finished(RunEnd::TimeLimit, &format!("{said}{note}"));
        let (words, end) = told(&[delta(1, 0, "it is "), abandoned(Some(said)), end]);
        assert_eq!(words, format!("{whole}{note}"));
        assert_eq!(end, News::Over(ChatFinish::Length, Vec::new()));
    }
}

#[test]
fn calls_are_handed_over_as_far_as_they_are_for_the_client() {
    let tool = |name: &str| BroughtTool {
        name: name.into(),
        description: String::new(),
        parameters: serde_json::Value::Null,
    };
    let (sender, messages) = ("ann".to_owned(), Vec::new());
    let (tools, temperature) = (vec![tool("theirs")], None);
    let max_output_tokens = None;
    let brought = Brought { sender, messages, tools, max_output_tokens, temperature };
    let own = TapeEvent::ToolCompleted(ToolCompleted {
        call: "t1c0".into(),
        outcome: palyra_common::runtime_contracts::ToolOutcome::Done,
        content: "it is late".into(),
        artifact: None,
        trust: Trust::Operator,
    });
    let tape = [
        TapeEvent::InputBrought(brought),
        completed(1, "", &["time.now", "theirs"]),
        own,
        finished(RunEnd::HandedOver, "[It is for whoever asked to go on: theirs]"),
    ];
    let (words, end) = told(&tape);
    let News::Over(ChatFinish::ToolCalls, calls) = end else { panic!("{end:?}") };
    assert_eq!(words, "");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!((&*calls[0].function.name, &*calls[0].id), ("theirs", &*format!("{}_t1c1", run())));
}

#[test]
fn every_end_is_told() {
    for end in RunEnd::ALL {
        let (_, told) = told(&[completed(1, "so far", &[]), finished(*end, "so far\n\n[why]")]);
        match (end, told) {
            (RunEnd::Answered, News::Over(ChatFinish::Stop, _))
            | (RunEnd::AnswerCut, News::Over(ChatFinish::Length, _))
            | (RunEnd::HandedOver, News::Over(ChatFinish::ToolCalls, _))
            | (RunEnd::ModelRefused, News::Over(ChatFinish::ContentFilter, _)) => {}
            (RunEnd::TokenLimit, told) => assert_eq!(code(told), Some(ErrorCode::ChatTooLong)),
            (RunEnd::BudgetSpent, told) => {
                assert_eq!(code(told), Some(ErrorCode::ChatBudgetSpent));
            }
            (RunEnd::Stopped, told) => assert_eq!(code(told), Some(ErrorCode::ChatStopped)),
            (_, News::Failed(envelope)) => {
                assert_eq!(envelope.known_code(), Some(ErrorCode::ChatRunFailed), "{end}");
            }
            (end, told) => assert!(matches!(told, News::Over(..)), "{end}: {told:?}"),
        }
    }
}

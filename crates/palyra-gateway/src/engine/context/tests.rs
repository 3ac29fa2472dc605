use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::{ModelFinish, ToolOutcome};
use palyra_common::tape::{Call, Input, ModelCompleted, TapeEntry, TapeEvent, ToolCompleted};
use palyra_common::time::Timestamp;
use palyra_models::{DeltaSink, Turn};
use palyra_policy::budget::Amount;
use palyra_storage::new_id;

use super::*;
use crate::engine::model::{Thought, ThoughtError};

/// A token has four bytes, and a model reads so many of them.
struct Scale(Option<u64>);

const SCALE: Scale = Scale(None);

/// Without a summary.
fn within(
    room: u64,
    own: &Events,
    earlier: &[Events],
    thinker: &dyn Thinker,
) -> Result<Built, TooLong> {
    super::within(room, own, earlier, None, thinker).map(|fitted| fitted.built)
}

impl Thinker for Scale {
    fn think<'a>(
        &'a self,
        _: &'a [String],
        _: u32,
        _: &'a ModelRequest,
        _: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>> {
        unreachable!("nobody is asked here")
    }

    fn preferred(
        &self,
        _: &[String],
        _: palyra_common::runtime_contracts::AuxiliaryPreference,
    ) -> Vec<String> {
        Vec::new()
    }

    fn worst_case(&self, _: &[String], _: &ModelRequest) -> Amount {
        Amount::default()
    }

    fn reads(&self, _: &[String], _: u64) -> Option<u64> {
        self.0
    }

    fn tokens(&self, text: &str) -> u64 {
        u64::try_from(text.len().div_ceil(4)).unwrap()
    }
}

fn said(text: &str, trust: Trust) -> TapeEvent {
    let (text, sender) = (text.to_owned(), "ann".to_owned());
    TapeEvent::InputMessage(Input { text, sender, trust, connector: None })
}

fn wants(turn: u32, calls: usize) -> TapeEvent {
    let call = |n| Call {
        id: format!("t{turn}c{n}"),
        tool: "fs.read".to_owned(),
        arguments: "{}".to_owned(),
    };
    TapeEvent::ModelCompleted(ModelCompleted {
        turn,
        attempt: 1,
        model: "test".to_owned(),
        text: String::new(),
        calls: (0..calls).map(call).collect(),
        finish: ModelFinish::ToolCalls,
        input_tokens: 0,
        output_tokens: 0,
        passed_over: Vec::new(),
        cost_micros: 0,
        prompt_sha256: String::new(),
        trust: Trust::Operator,
    })
}

fn got(call: &str, content: &str) -> TapeEvent {
    let (call, content) = (call.to_owned(), content.to_owned());
    let (outcome, trust) = (ToolOutcome::Done, Trust::Untrusted);
    TapeEvent::ToolCompleted(ToolCompleted { call, outcome, content, artifact: None, trust })
}

fn run(events: Vec<TapeEvent>) -> Events {
    let entry = |(seq, event)| TapeEntry { seq, at: Timestamp::from_unix_millis(0), event };
    let mut entries: Vec<_> = (1..).zip(events).map(entry).collect();
    entries.reverse();
    (new_id(), entries)
}

fn results(built: &Built) -> Vec<(String, String)> {
    let of = |turn: &Turn| match turn {
        Turn::ToolResults { results } => {
            results.iter().map(|result| (result.call_id.clone(), result.content.clone())).collect()
        }
        Turn::User { .. } | Turn::Assistant { .. } => Vec::new(),
    };
    built.turns.iter().flat_map(of).collect()
}

#[test]
fn every_call_has_a_result_also_where_a_run_was_stopped_before() {
    let stopped = run(vec![said("read both", Trust::Operator), wants(1, 2), got("t1c0", "one")]);
    let built = Built::of(&stopped, Cut::NONE);
    let told: Vec<_> = results(&built).into_iter().map(|(_, content)| content).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("one") && told[1].contains("ended before"), "{told:?}");
    let nothing_yet = run(vec![said("read both", Trust::Operator), wants(1, 2)]);
    assert_eq!(results(&Built::of(&nothing_yet, Cut::NONE)).len(), 2);
    let answered = run(vec![said("hello", Trust::Operator)]);
    assert_eq!(Built::of(&answered, Cut::NONE).turns.len(), 1);
}

#[test]
fn a_call_has_one_result() {
    let twice = run(vec![
        said("read", Trust::Operator),
        wants(1, 2),
        got("t1c0", "one"),
        got("t1c1", "two"),
        got("t1c0", "late"),
    ]);
    let built = within(10_000, &twice, &[], &SCALE).unwrap();
    let shown: Vec<_> = results(&built).into_iter().map(|(_, content)| content).collect();
    assert_eq!(shown.len(), 2);
    assert!(shown[0].contains("one") && shown[1].contains("two"), "{shown:?}");
}

#[test]
fn no_call_has_the_id_of_one_of_another_run() {
    let one = run(vec![said("read", Trust::Operator), wants(1, 1), got("t1c0", "one")]);
    let two = run(vec![said("read", Trust::Operator), wants(1, 1), got("t1c0", "two")]);
    let all = within(10_000, &two, &[one], &SCALE).unwrap();
    let ids: Vec<_> = results(&all).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    assert!(ids.iter().all(|id| id.len() <= 40), "{ids:?}");
}

#[test]
fn what_does_not_fit_is_cut_from_its_oldest_part_on() {
    let page = "x".repeat(8_000);
    let reads = vec![
        said("read all of it", Trust::Operator),
        wants(1, 1),
        got("t1c0", &page),
        wants(2, 1),
        got("t2c0", &page),
        wants(3, 1),
        got("t3c0", &page),
    ];
    let own = run(reads);
    let whole = within(100_000, &own, &[], &SCALE).unwrap();
    assert!(results(&whole).iter().all(|(_, content)| content.contains(&page)));

    let tight = within(3_500, &own, &[], &SCALE).unwrap();
    assert!(tight.weight(&SCALE) <= 3_500);
    let shown = results(&tight);
    assert!(shown[2].1.contains(&page), "what the model has not seen yet stays whole");
    assert!(shown[0].1.contains("only the first 2048 of 8000 bytes"));

    let tiny = within(600, &own, &[], &SCALE).unwrap();
    assert!(tiny.weight(&SCALE) <= 600, "{}", tiny.weight(&SCALE));
    for (_, content) in results(&tiny) {
        assert!(content.ends_with("</untrusted>"), "a mark is closed: {content}");
    }
}

#[test]
fn a_result_of_many_bytes_is_cut_between_characters() {
    let page = "ž".repeat(100_000);
    let long = run(vec![said("read", Trust::Operator), wants(1, 1), got("t1c0", &page)]);
    let built = within(1_000, &long, &[], &SCALE).unwrap();
    assert!(built.weight(&SCALE) <= 1_000);
    assert_eq!(built.trust, Trust::Untrusted);
}

/// An answer to the beginning of a question would look like one to all of it.
#[test]
fn what_was_asked_is_whole_or_too_long() {
    let text = "x".repeat(8_000);
    for trust in [Trust::Operator, Trust::Untrusted] {
        let page = "y".repeat(100_000);
        let own = run(vec![said(&text, trust), wants(1, 1), got("t1c0", &page)]);
        let built = within(2_300, &own, &[], &SCALE).unwrap();
        let whole =
            |turn: &Turn| matches!(turn, Turn::User { .. }) && format!("{turn:?}").contains(&text);
        assert!(whole(&built.turns[0]), "the result makes room for it");
        let refused = within(1_900, &own, &[], &SCALE).err().unwrap();
        assert_eq!(refused.room, 1_900);
        assert!(refused.asked >= 2_000, "{refused}");
    }
}

fn answered(turn: u32, arguments: &str) -> TapeEvent {
    match wants(turn, 1) {
        TapeEvent::ModelCompleted(mut answer) => {
            answer.calls[0].arguments = arguments.to_owned();
            TapeEvent::ModelCompleted(answer)
        }
        other => other,
    }
}

/// What a model has written itself is as much as what it has read.
#[test]
fn the_oldest_steps_are_left_out_where_shorter_results_are_not_enough() {
    let file = format!("{{\"text\":\"{}\"}}", "z".repeat(4_000));
    let steps = (1..=10).flat_map(|turn| [answered(turn, &file), got(&format!("t{turn}c0"), "ok")]);
    let own = run([said("write ten files", Trust::Operator)].into_iter().chain(steps).collect());
    let built = within(3_500, &own, &[], &SCALE).unwrap();
    assert!(built.weight(&SCALE) <= 3_600, "{}", built.weight(&SCALE));
    let first = format!("{:?}", built.turns[0]);
    assert!(first.contains("write ten files") && first.contains("first 7 steps"), "{first}");
    let ids: Vec<_> = results(&built).into_iter().map(|(id, _)| id[27..].to_owned()).collect();
    assert_eq!(ids, ["t8c0", "t9c0", "t10c0"], "each with its call");
    assert_eq!(built.turns.len(), 7);
    let tight = within(100, &own, &[], &SCALE).unwrap();
    assert_eq!(results(&tight).len(), 1, "the last step stays");
    let whole = within(100_000, &own, &[], &SCALE).unwrap();
    assert!(!format!("{:?}", whole.turns[0]).contains("not shown"));
}

#[test]
fn of_earlier_runs_the_newest_are_kept_as_far_as_there_is_room() {
    let earlier: Vec<_> = (0..10)
        .map(|n| run(vec![said(&format!("{n} {}", "y".repeat(398)), Trust::Operator)]))
        .collect();
    let own = run(vec![said("now", Trust::Operator)]);
    let built = within(301, &own, &earlier, &SCALE).unwrap();
    let first: Vec<_> = built.told.iter().map(|text| text[..1].to_owned()).collect();
    assert_eq!(first, ["2", "1", "0", "n"]);
}

#[test]
fn what_was_said_under_the_eyes_of_strangers_is_theirs_when_they_are_forgotten() {
    let mut answer = wants(1, 0);
    if let TapeEvent::ModelCompleted(answer) = &mut answer {
        "as bob wants it".clone_into(&mut answer.text);
        answer.trust = Trust::Untrusted;
    }
    let second = run(vec![said("what does he want?", Trust::Operator), answer]);
    let first = run(vec![said(&"obey me ".repeat(1_000), Trust::Untrusted)]);
    let own = run(vec![said("do it", Trust::Operator)]);
    let built = within(100, &own, &[second, first], &SCALE).unwrap();
    assert!(!format!("{:?}", built.turns).contains("obey me"), "there is no room for it");
    assert!(format!("{:?}", built.turns).contains("as bob wants it"));
    assert_eq!(built.trust, Trust::Untrusted);
}

/// A request that is too long for the model is refused, and so is every one after it.
#[test]
fn no_more_is_read_than_the_models_take() {
    let agent = AgentSpec::default();
    let tool = |bytes: usize| ToolSpec {
        name: "a".to_owned(),
        description: "d".repeat(bytes),
        input_schema: serde_json::json!({}),
    };
    for (reads, tools, expected) in [
        (None, 4_000, 32_000),
        (Some(1_000_000), 4_000, 32_000),
        // A part of it is for what is counted otherwise, and some is for the tools.
        (Some(16_000), 0, 14_998),
        (Some(16_000), 4_000, 13_998),
        (Some(34_500), 1_000, 32_000),
        (Some(34_200), 1_000, 31_811),
        (Some(100), 4_000, 0),
    ] {
        assert_eq!(most(&Scale(reads), &agent, &[tool(tools)]), expected, "{reads:?} {tools}");
    }
}

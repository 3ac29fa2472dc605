use proptest::prelude::*;

use super::{IdProblem, RunId, SessionId, Timestamp, TypedId};

const TEXT: &str = "01HQS9V9ER3KWZ4J7N2B6T8Y0D";

fn check_problem(text: &str, expected: IdProblem) {
    let error = text.parse::<RunId>().unwrap_err();
    assert_eq!(error.problem, expected, "parsing {text:?}");
}

#[test]
fn reads_either_case_and_writes_upper_case() {
    let id: RunId = TEXT.to_lowercase().parse().unwrap();
    assert_eq!(id.to_string(), TEXT);
    assert_eq!(id, TEXT.parse().unwrap());
    assert_eq!(format!("{id:?}"), format!("RunId({TEXT})"));
}

#[test]
fn serialises_as_its_text() {
    let id: SessionId = TEXT.parse().unwrap();
    assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{TEXT}\""));
    assert_eq!(serde_json::from_str::<SessionId>(&format!("\"{TEXT}\"")).unwrap(), id);
    let refused = serde_json::from_str::<SessionId>("\"short\"").unwrap_err().to_string();
    assert!(refused.contains("no session id: it has 5 characters"), "{refused}");
}

#[test]
fn says_what_is_wrong() {
    check_problem("", IdProblem::Length { found: 0 });
    check_problem(&TEXT[1..], IdProblem::Length { found: 25 });
    check_problem(&format!("{TEXT}0"), IdProblem::Length { found: 27 });
    check_problem(&format!(" {}", &TEXT[1..]), IdProblem::Character { found: ' ', position: 1 });
    check_problem(&TEXT.replace('W', "U"), IdProblem::Character { found: 'U', position: 13 });
    check_problem(&TEXT.replace('W', "l"), IdProblem::Character { found: 'l', position: 13 });
    check_problem(&TEXT.replace('W', "é"), IdProblem::Character { found: 'é', position: 13 });
    check_problem("80000000000000000000000000", IdProblem::Overflow);
    check_problem("zzzzzzzzzzzzzzzzzzzzzzzzzz", IdProblem::Overflow);
}

#[test]
fn the_largest_ulid_is_still_one() {
    let largest = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    assert_eq!(largest.parse::<RunId>().unwrap().to_string(), largest);
}

#[test]
fn times_outside_a_ulid_are_clamped() {
    let first = RunId::from_parts(Timestamp::UNIX_EPOCH, 7);
    assert_eq!(RunId::from_parts(Timestamp::MIN, 7), first);
    assert_eq!(first.created_at(), Timestamp::UNIX_EPOCH);
    let last = Timestamp::from_unix_millis((1 << 48) - 1);
    assert_eq!(RunId::from_parts(Timestamp::MAX, 7), RunId::from_parts(last, 7));
    assert_eq!(RunId::from_parts(Timestamp::MAX, 7).created_at(), last);
}

proptest! {
    #[test]
    fn parts_survive_the_text(millis in 0_i64..(1 << 48), entropy: u128) {
        let at = Timestamp::from_unix_millis(millis);
        let id = <RunId as TypedId>::from_parts(at, entropy);
        prop_assert_eq!(id.to_string().parse::<RunId>(), Ok(id));
        prop_assert_eq!(id.to_string().to_lowercase().parse::<RunId>(), Ok(id));
        prop_assert_eq!(id.created_at(), at);
        let low_bits = (1_u128 << 80) - 1;
        prop_assert_eq!(id, RunId::from_parts(at, entropy & low_bits));
    }

    #[test]
    fn order_is_the_order_of_time_and_of_text(
        a in (0_i64..(1 << 48), any::<u128>()),
        b in (0_i64..(1 << 48), any::<u128>()),
    ) {
        let id = |(millis, entropy)| RunId::from_parts(Timestamp::from_unix_millis(millis), entropy);
        prop_assert_eq!(id(a).cmp(&id(b)), id(a).to_string().cmp(&id(b).to_string()));
        if a.0 < b.0 {
            prop_assert!(id(a) < id(b));
        }
    }

    #[test]
    fn any_text_either_parses_to_itself_or_is_refused(text in "[0-9A-Za-z]{26}") {
        if let Ok(id) = text.parse::<RunId>() {
            prop_assert_eq!(id.to_string(), text.to_uppercase());
        } else {
            let alphabet = text.chars().all(|c| !"ILOUilou".contains(c));
            prop_assert!(!alphabet || text.as_bytes()[0] > b'7');
        }
    }
}

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::{
    ContractDescriptor, ContractValue, HandoffIntent, HandoffSection, HookEvent,
    RunLifecycleHookPhase, RunLifecyclePhase, TelemetrySurface, registry,
};

#[test]
fn every_contract_is_registered_under_its_own_name_and_documented() {
    let mut names = BTreeSet::new();
    for contract in registry() {
        assert!(names.insert(contract.name), "{} is defined twice", contract.name);
        for doc in contract.values.iter().map(|value| value.doc).chain([contract.doc]) {
            assert!(doc.ends_with('.') && doc == doc.trim(), "{}: {doc:?}", contract.name);
            assert!(!doc.contains("  "), "{}: {doc:?}", contract.name);
        }
    }
}

#[test]
fn no_two_spellings_of_a_contract_collide() {
    for contract in registry() {
        let mut seen = BTreeSet::new();
        for spelling in contract.values.iter().flat_map(spellings) {
            assert!(seen.insert(spelling.to_lowercase()), "{}: {spelling}", contract.name);
        }
    }
}

#[test]
fn serde_writes_the_canonical_value_and_reads_every_spelling() {
    let phase = RunLifecyclePhase::WaitingForApproval;
    assert_eq!(serde_json::to_value(phase).unwrap(), json!("waiting_for_approval"));
    for spelling in ["waiting_for_approval", " Awaiting_Approval ", "APPROVAL_WAIT"] {
        let read: RunLifecyclePhase = serde_json::from_value(json!(spelling)).unwrap();
        assert_eq!(read, phase);
    }
    let refused = serde_json::from_value::<RunLifecyclePhase>(json!("lost")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "\"lost\" is no run lifecycle phase, expected one of queued, running, \
         waiting_for_approval, paused, completed, failed, aborted, expired"
    );
    let refused = serde_json::from_value::<RunLifecyclePhase>(json!(3)).unwrap_err();
    assert!(refused.to_string().contains("expected a RunLifecyclePhase"), "{refused}");
}

#[test]
fn a_value_knows_its_place_its_text_and_its_schema() {
    for (value, phase) in RunLifecyclePhase::CONTRACT.values.iter().zip(RunLifecyclePhase::ALL) {
        assert_eq!(value.wire, phase.as_str());
        assert_eq!(format!("{phase:>24}"), format!("{:>24}", value.wire));
    }
    assert_eq!(
        super::ToolEffect::json_schema(),
        json!({
            "title": "ToolEffect",
            "description": super::ToolEffect::CONTRACT.doc,
            "type": "string",
            "enum": ["read_only", "idempotent", "side_effect"],
        })
    );
}

#[test]
fn run_hook_events_are_the_lifecycle_phases_with_a_prefix() {
    let from_events: Vec<_> = HookEvent::ALL
        .iter()
        .filter(|event| event.as_str().starts_with("run:"))
        .map(|event| (event.as_str().to_owned(), event.lifecycle_phase()))
        .collect();
    let from_phases: Vec<_> = RunLifecycleHookPhase::ALL
        .iter()
        .map(|phase| (format!("run:{phase}"), Some(*phase)))
        .collect();
    assert_eq!(from_events, from_phases);
    let others = HookEvent::ALL.iter().filter(|event| event.lifecycle_phase().is_none());
    assert_eq!(others.count(), HookEvent::ALL.len() - RunLifecycleHookPhase::ALL.len());
}

#[test]
fn surface_words_are_read_in_snake_kebab_and_camel_case() {
    for contract in [HandoffSection::CONTRACT, HandoffIntent::CONTRACT, TelemetrySurface::CONTRACT]
    {
        for value in contract.values {
            for style in [value.wire.to_owned(), value.wire.replace('-', "_"), camel(value.wire)] {
                assert_eq!(contract.canonical(&style), Ok(value.wire), "{}", contract.name);
            }
        }
    }
}

fn camel(kebab: &str) -> String {
    let mut words = kebab.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |so_far, word| so_far + &word[..1].to_uppercase() + &word[1..])
}

/// Taken from the table itself, so that what parsing leaves out is missed here.
fn spellings(value: &'static ContractValue) -> impl Iterator<Item = &'static str> {
    [value.wire].into_iter().chain(value.aliases.iter().copied())
}

/// Every spelling of every contract, and the canonical value that it must be read as.
fn every_spelling()
-> impl Iterator<Item = (&'static ContractDescriptor, &'static str, &'static str)> {
    registry().flat_map(|contract| {
        let read_as = move |value| spellings(value).map(move |text| (contract, text, value.wire));
        contract.values.iter().flat_map(read_as)
    })
}

/// `text` with the case of each letter chosen by a bit of `mask`.
fn recased(text: &str, mask: u64) -> String {
    let recase = |(bit, letter): (usize, char)| {
        if mask >> (bit % 64) & 1 == 1 {
            letter.to_ascii_uppercase()
        } else {
            letter.to_ascii_lowercase()
        }
    };
    text.chars().enumerate().map(recase).collect()
}

fn blank() -> impl Strategy<Value = String> {
    "[ \t\r\n\u{a0}\u{2003}]{0,4}"
}

proptest! {
    #[test]
    fn any_spelling_in_any_case_among_blanks_is_read_as_its_value(
        mask: u64,
        before in blank(),
        after in blank(),
    ) {
        for (contract, spelling, canonical) in every_spelling() {
            let text = format!("{before}{}{after}", recased(spelling, mask));
            prop_assert_eq!(contract.canonical(&text), Ok(canonical), "{}", contract.name);
        }
    }

    #[test]
    fn unknown_text_is_refused_with_every_canonical_value(
        text in prop_oneof!["\\PC{0,24}", "[a-z_.:-]{1,12}"],
    ) {
        for contract in registry() {
            assert_refused_unless_known(contract, &text)?;
        }
    }

    #[test]
    fn a_spelling_with_one_character_too_many_is_refused(at: Index, extra in "[a-z_.: -]") {
        for (contract, spelling, _) in every_spelling() {
            let mut text = spelling.to_owned();
            text.insert_str(at.index(spelling.len() + 1), &extra);
            assert_refused_unless_known(contract, &text)?;
        }
    }
}

fn assert_refused_unless_known(
    contract: &ContractDescriptor,
    text: &str,
) -> Result<(), TestCaseError> {
    let mut known = contract.values.iter().flat_map(spellings);
    if known.any(|spelling| spelling.eq_ignore_ascii_case(text.trim())) {
        return Ok(());
    }
    let error = match contract.canonical(text) {
        Ok(read) => return Err(TestCaseError::fail(format!("{text:?} was read as {read}"))),
        Err(error) => error.to_string(),
    };
    let (_, listed) = error.rsplit_once("expected one of ").unwrap_or_default();
    let canonical: Vec<_> = contract.values.iter().map(|value| value.wire).collect();
    prop_assert_eq!(listed.split(", ").collect::<Vec<_>>(), canonical);
    Ok(())
}

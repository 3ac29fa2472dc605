use super::{ContractDescriptor, ContractValue, nth_spelling};

const fn value(wire: &'static str, aliases: &'static [&'static str]) -> ContractValue {
    ContractValue { wire, doc: "", aliases }
}

const APPLE_AND_PEAR: &[ContractValue] = &[value("apple", &["pomme", "apfel"]), value("pear", &[])];

fn contract(values: &'static [ContractValue]) -> ContractDescriptor {
    ContractDescriptor { name: "Fruit", doc: "A fruit.", values, canonical: |_| Ok("") }
}

#[test]
fn sound_spellings_pass() {
    contract(APPLE_AND_PEAR).assert_sound();
}

#[test]
#[should_panic = "differ only in case"]
fn two_values_may_not_share_a_spelling() {
    contract(const { &[value("apple", &[]), value("Apple", &[])] }).assert_sound();
}

#[test]
#[should_panic = "differ only in case"]
fn an_alias_may_not_be_another_value() {
    contract(const { &[value("apple", &[]), value("pear", &["fig", "APPLE"])] }).assert_sound();
}

#[test]
#[should_panic = "differ only in case"]
fn an_alias_may_not_repeat_its_own_value() {
    contract(const { &[value("apple", &["Apple"])] }).assert_sound();
}

#[test]
#[should_panic = "blanks"]
fn a_spelling_may_not_have_blanks() {
    contract(const { &[value("red apple", &[])] }).assert_sound();
}

#[test]
#[should_panic = "empty"]
fn a_spelling_may_not_be_empty() {
    contract(const { &[value("apple", &[""])] }).assert_sound();
}

#[test]
fn spellings_are_counted_through_all_values() {
    let spellings: Vec<_> = (0..).map_while(|n| nth_spelling(APPLE_AND_PEAR, n)).collect();
    assert_eq!(spellings, ["apple", "pomme", "apfel", "pear"]);
}

#[test]
fn the_error_says_what_was_read_and_what_was_expected() {
    let error = contract(APPLE_AND_PEAR).position(" plum\n").unwrap_err();
    assert_eq!(error.to_string(), "\"plum\" is no fruit, expected one of apple, pear");
    assert_eq!(error.contract(), "Fruit");
}

#[test]
fn the_error_repeats_only_the_beginning_of_a_long_text() {
    let error = contract(APPLE_AND_PEAR).position(&"é".repeat(10_000)).unwrap_err();
    assert_eq!(error.to_string().matches('é').count(), 64);
}

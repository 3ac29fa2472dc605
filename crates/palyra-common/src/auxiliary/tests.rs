use super::*;

/// As the design has it.
#[test]
fn the_table_of_contracts() {
    let row = |kind: &AuxiliaryTaskKind| {
        let of = contract(*kind);
        let (preference, failure) = (of.preference, of.on_failure);
        format!("{kind}: {} → {}, {}, {preference}, {failure}", of.input, of.output, of.tokens)
    };
    let table: Vec<_> = AuxiliaryTaskKind::ALL.iter().map(row).collect();
    let expected = [
        "summary: plain_text_context → bounded_plain_text_summary, 1200, low_cost, degrade",
        "recall_search: query_plus_optional_context → ranked_recall_evidence_json, 1600, low_cost, \
         degrade",
        "classification: plain_text_payload → single_label_json, 600, low_latency, fail_closed",
        "extraction: plain_text_payload → bounded_extracted_fields_json, 1200, low_cost, degrade",
        "objective_judge: objective_judge_input_json → objective_judge_strict_json, 900, \
         low_latency, fail_closed",
        "vision: prompt_plus_bounded_images → bounded_visual_observation_json, 2000, \
         vision_capable, fail_closed",
    ];
    assert_eq!(table, expected);
}

#[test]
fn what_is_written_down_is_read_again() {
    let shape = SummaryShape::Notes;
    let summary = SummaryInput { text: "a".into(), before: None, shape, max_chars: 100 };
    let input = AuxiliaryInput::Summary(summary);
    let written = input.to_value().unwrap();
    assert_eq!(AuxiliaryInput::from_value(input.kind(), written).unwrap(), input);
    let output = AuxiliaryOutput::Summary(Summary("a".to_owned()));
    assert_eq!(output.to_value().unwrap(), serde_json::json!("a"));
    let other = AuxiliaryOutput::from_value(AuxiliaryTaskKind::Vision, serde_json::json!("a"));
    assert!(other.is_err());
}

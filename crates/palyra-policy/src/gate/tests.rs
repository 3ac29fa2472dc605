use super::*;

/// The whole matrix, to be read as it is in the design.
#[test]
fn the_base_rule() {
    let mut rows = Vec::new();
    for effect in ToolEffect::ALL {
        for reach in ToolReach::ALL {
            for risk in [RiskLevel::Low, RiskLevel::Medium] {
                let decide = |context, said| {
                    let proposal = Proposal { effect: *effect, risk, reach: *reach, context, said };
                    let (decision, reason) = gate(&proposal);
                    format!("{decision}({reason})")
                };
                let clean = decide(Trust::Operator, Trust::Operator);
                let told = decide(Trust::Untrusted, Trust::Operator);
                let tainted = decide(Trust::Untrusted, Trust::Untrusted);
                rows.push(format!("{effect} {reach} {risk}: {clean} {told} {tainted}"));
            }
        }
    }
    let own = "allow(reads_own_data) allow(reads_own_data) allow(reads_own_data)";
    let reads = "allow(reads_clean) allow(reads_as_told) ask(carries_data)";
    let again = "allow(idempotent_clean) ask(untrusted_context) ask(untrusted_context)";
    let low = "allow(low_risk) allow(low_risk) allow(low_risk)";
    let risky = "ask(risky) ask(risky) ask(risky)";
    let expected = [
        format!("read_only own_data low: {own}"),
        format!("read_only own_data medium: {own}"),
        format!("read_only here low: {own}"),
        format!("read_only here medium: {own}"),
        format!("read_only elsewhere low: {reads}"),
        format!("read_only elsewhere medium: {reads}"),
        format!("idempotent own_data low: {again}"),
        format!("idempotent own_data medium: {again}"),
        format!("idempotent here low: {again}"),
        format!("idempotent here medium: {again}"),
        format!("idempotent elsewhere low: {again}"),
        format!("idempotent elsewhere medium: {again}"),
        format!("side_effect own_data low: {low}"),
        format!("side_effect own_data medium: {risky}"),
        format!("side_effect here low: {low}"),
        format!("side_effect here medium: {risky}"),
        format!("side_effect elsewhere low: {low}"),
        format!("side_effect elsewhere medium: {risky}"),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn what_matters_always_asks() {
    for risk in [RiskLevel::Medium, RiskLevel::High, RiskLevel::Critical] {
        for reach in ToolReach::ALL {
            for context in Trust::ALL {
                let proposal = Proposal {
                    effect: ToolEffect::SideEffect,
                    risk,
                    reach: *reach,
                    context: *context,
                    said: Trust::Operator,
                };
                assert_eq!(gate(&proposal).0, GateDecision::Ask);
            }
        }
    }
}

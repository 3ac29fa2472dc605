use super::*;

const CALM: QueueFacts = QueueFacts {
    readiness: ConnectorReadiness::Ready,
    flow: Flow::Open,
    deepest_lane: 3,
    lane_limit: 100,
    rate_limited: 0,
    retrying: 0,
    dead: 0,
    unknown: 0,
};

#[test]
fn nothing_wrong_is_healthy_and_has_no_reason() {
    assert_eq!(saturation(&CALM), ConnectorSaturation::Healthy);
    assert_eq!(reasons(&CALM), [""; 0]);
    assert_eq!(saturation(&QueueFacts { lane_limit: 0, ..CALM }), ConnectorSaturation::Healthy);
}

#[test]
fn each_trouble_has_its_word() {
    use ConnectorSaturation as S;
    let troubles = [
        (QueueFacts { readiness: ConnectorReadiness::AuthFailed, ..CALM }, S::AuthFailed),
        (QueueFacts { readiness: ConnectorReadiness::Misconfigured, ..CALM }, S::AuthFailed),
        (QueueFacts { readiness: ConnectorReadiness::MissingCredential, ..CALM }, S::AuthFailed),
        (QueueFacts { flow: Flow::Paused, ..CALM }, S::Paused),
        (QueueFacts { deepest_lane: 80, ..CALM }, S::Backpressure),
        (QueueFacts { rate_limited: 1, ..CALM }, S::RateLimited),
        (QueueFacts { retrying: 2, ..CALM }, S::Retrying),
        (QueueFacts { dead: 1, ..CALM }, S::DeadLettered),
        (QueueFacts { unknown: 1, ..CALM }, S::DeadLettered),
    ];
    for (facts, word) in troubles {
        assert_eq!(saturation(&facts), word, "{facts:?}");
        assert_eq!(reasons(&facts).len(), 1, "{facts:?}");
    }
    assert_eq!(saturation(&QueueFacts { deepest_lane: 79, ..CALM }), S::Healthy);
}

#[test]
fn the_gravest_comes_first_and_the_others_are_told() {
    let facts = QueueFacts { flow: Flow::Paused, retrying: 1, dead: 2, unknown: 1, ..CALM };
    assert_eq!(saturation(&facts), ConnectorSaturation::Paused);
    let told = reasons(&facts);
    assert_eq!(told[0], "an operator has paused it");
    assert_eq!(told.len(), 4, "{told:?}");
}

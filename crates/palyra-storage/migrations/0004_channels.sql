-- An instance of a connector, such as one account of a platform.
CREATE TABLE connectors (
    id {text} PRIMARY KEY,
    kind {text} NOT NULL,
    enabled {int} NOT NULL,
    -- What its adapter is told, as a JSON object.
    settings {text} NOT NULL,
    -- How its queue works, as a JSON object.
    queue {text} NOT NULL,
    readiness {text} NOT NULL,
    -- Why it is not ready, in words.
    readiness_reason {text},
    paused_at {int},
    pause_reason {text},
    -- The clock by which what waits in its queue grows old: since when it stands still, and for how
    -- long it did before.
    stopped_since {int},
    stopped_before {int} NOT NULL,
    -- Grows with each change by an operator.
    version {int} NOT NULL,
    created_at {int} NOT NULL
) {strict};

-- One conversation of a connector: its messages go out one after the other.
CREATE TABLE outbox_lanes (
    connector_id {text} NOT NULL REFERENCES connectors (id),
    conversation {text} NOT NULL,
    next_seq {int} NOT NULL,
    -- How many entries are in the lane and have not stepped aside.
    depth {int} NOT NULL,
    -- The first of them; null: there is none.
    head_seq {int},
    -- When something is to be done with the first; null: nothing, or an attempt is under way.
    due_at {int},
    PRIMARY KEY (connector_id, conversation)
) {strict};
CREATE INDEX outbox_lanes_due ON outbox_lanes (connector_id, due_at) WHERE due_at IS NOT NULL;

-- What is to go out and has not ended. What was delivered or cancelled is in outbox_history.
CREATE TABLE outbox (
    connector_id {text} NOT NULL REFERENCES connectors (id),
    envelope_id {text} NOT NULL,
    part {int} NOT NULL,
    conversation {text} NOT NULL,
    -- Its place in the lane; null while it waits for an approval.
    lane_seq {int},
    -- 1: not in the lane now.
    aside {int} NOT NULL,
    state {text} NOT NULL,
    attempts {int} NOT NULL,
    attempt_limit {int} NOT NULL,
    doubtful {int} NOT NULL,
    first_attempt_at {int},
    looks {int} NOT NULL,
    due_at {int},
    -- On the clock of the connector.
    expires_at {int},
    -- The fencing token of whoever makes the attempt under way.
    attempt_token {int},
    -- What to do, as a JSON object.
    operation {text} NOT NULL,
    death {text},
    last_class {text},
    last_error {text},
    created_at {int} NOT NULL,
    changed_at {int} NOT NULL,
    -- Grows with each change.
    version {int} NOT NULL,
    PRIMARY KEY (connector_id, envelope_id, part)
) {strict};
CREATE INDEX outbox_by_lane ON outbox (connector_id, conversation, lane_seq) WHERE aside = 0;
CREATE INDEX outbox_aside ON outbox (connector_id, state, changed_at) WHERE aside = 1;
CREATE INDEX outbox_dead ON outbox (changed_at) WHERE state = 'dead';
CREATE INDEX outbox_by_conversation ON outbox (connector_id, conversation) WHERE aside = 1;
CREATE INDEX outbox_sending ON outbox (connector_id) WHERE state = 'sending';

-- What became of it. The key outlives the content, so that nothing is sent a second time.
CREATE TABLE outbox_history (
    connector_id {text} NOT NULL,
    envelope_id {text} NOT NULL,
    part {int} NOT NULL,
    conversation {text} NOT NULL,
    state {text} NOT NULL,
    native_message_id {text},
    attempts {int} NOT NULL,
    -- Null once only the key is kept.
    operation {text},
    created_at {int} NOT NULL,
    ended_at {int} NOT NULL,
    PRIMARY KEY (connector_id, envelope_id, part)
) {strict};
CREATE INDEX outbox_history_by_end ON outbox_history (ended_at);
CREATE INDEX outbox_history_content ON outbox_history (ended_at) WHERE operation IS NOT NULL;
CREATE INDEX outbox_history_by_conversation ON outbox_history (connector_id, conversation, ended_at);

-- What came in, once each.
CREATE TABLE inbound_events (
    connector_id {text} NOT NULL,
    native_message_id {text} NOT NULL,
    conversation {text} NOT NULL,
    thread {text},
    sender {text} NOT NULL,
    -- As a JSON object. Null once only the key is kept.
    content {text},
    occurred_at {int} NOT NULL,
    received_at {int} NOT NULL,
    state {text} NOT NULL,
    reason {text},
    session_key {text},
    failures {int} NOT NULL,
    due_at {int},
    PRIMARY KEY (connector_id, native_message_id)
) {strict};
CREATE INDEX inbound_events_due ON inbound_events (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX inbound_events_by_arrival ON inbound_events (received_at);
CREATE INDEX inbound_events_content ON inbound_events (received_at) WHERE content IS NOT NULL;
CREATE INDEX inbound_events_by_conversation ON inbound_events (connector_id, conversation, received_at);

-- How far each channel of a connector was read.
CREATE TABLE inbound_cursors (
    connector_id {text} NOT NULL REFERENCES connectors (id),
    conversation {text} NOT NULL,
    cursor {text} NOT NULL,
    PRIMARY KEY (connector_id, conversation)
) {strict};

-- An entry ends where it is: what was delivered or cancelled stays in the row that keeps it from
-- being sent a second time.
CREATE TABLE outbox_whole (
    connector_id {text} NOT NULL,
    envelope_id {text} NOT NULL,
    part {int} NOT NULL,
    conversation {text} NOT NULL,
    -- Its place in the lane; null while it waits for an approval.
    lane_seq {int},
    -- 0: in the lane. 1: aside, for a human. 2: it has ended. 3: so it has, and only the key is kept.
    place {int} NOT NULL,
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
    -- What to do, as a JSON object. Null once only the key is kept.
    operation {text},
    death {text},
    last_class {text},
    last_error {text},
    -- The name that the platform gave it.
    native_message_id {text},
    created_at {int} NOT NULL,
    changed_at {int} NOT NULL,
    -- Grows with each change.
    version {int} NOT NULL,
    PRIMARY KEY (connector_id, envelope_id, part)
) {strict};

INSERT INTO outbox_whole (connector_id, envelope_id, part, conversation, lane_seq, place, state,
    attempts, attempt_limit, doubtful, first_attempt_at, looks, due_at, expires_at, attempt_token,
    operation, death, last_class, last_error, created_at, changed_at, version)
SELECT connector_id, envelope_id, part, conversation, lane_seq, aside, state,
    attempts, attempt_limit, doubtful, first_attempt_at, looks, due_at, expires_at, attempt_token,
    operation, death, last_class, last_error, created_at, changed_at, version
FROM outbox;

INSERT INTO outbox_whole (connector_id, envelope_id, part, conversation, place, state, attempts,
    attempt_limit, doubtful, looks, operation, native_message_id, created_at, changed_at, version)
SELECT connector_id, envelope_id, part, conversation, CASE WHEN operation IS NULL THEN 3 ELSE 2 END,
    state, attempts, attempts, 0, 0, operation, native_message_id, created_at, ended_at, 0
FROM outbox_history;

DROP TABLE outbox;
DROP TABLE outbox_history;
ALTER TABLE outbox_whole RENAME TO outbox;

CREATE UNIQUE INDEX outbox_by_lane ON outbox (connector_id, conversation, lane_seq)
    WHERE place = 0;
CREATE INDEX outbox_aside ON outbox (connector_id, state, changed_at) WHERE place = 1;
CREATE INDEX outbox_aside_by_conversation ON outbox (connector_id, conversation) WHERE place = 1;
CREATE INDEX outbox_dead ON outbox (changed_at) WHERE state = 'dead';
CREATE INDEX outbox_sending ON outbox (connector_id) WHERE state = 'sending';
CREATE INDEX outbox_ended ON outbox (changed_at) WHERE place = 2;
CREATE INDEX outbox_said ON outbox (connector_id, conversation, changed_at) WHERE place = 2;
CREATE INDEX outbox_keys ON outbox (changed_at) WHERE place = 3;

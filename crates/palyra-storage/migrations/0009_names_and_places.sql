-- Where the connection of a connector can be taken up again, in the words of its platform: everything
-- before it is among what came in.
CREATE TABLE connector_resume (
    connector_id {text} PRIMARY KEY REFERENCES connectors (id),
    state {text} NOT NULL,
    -- The fencing token of whoever saved it, and its place among what that has saved.
    token {int} NOT NULL,
    position {int} NOT NULL,
    saved_at {int} NOT NULL
) {strict};

-- One message of a platform settles one entry. Changes to a message have no name of their own; of
-- two that were given the same, the first keeps it.
UPDATE outbox SET native_message_id = NULL WHERE (connector_id, envelope_id, part) IN (
    SELECT connector_id, envelope_id, part FROM (
        SELECT connector_id, envelope_id, part, row_number() OVER (
            PARTITION BY connector_id, conversation, native_message_id
            ORDER BY changed_at, envelope_id, part) AS place
        FROM outbox WHERE native_message_id IS NOT NULL) AS named
    WHERE place > 1);
CREATE UNIQUE INDEX outbox_native ON outbox (connector_id, conversation, native_message_id)
    WHERE native_message_id IS NOT NULL;

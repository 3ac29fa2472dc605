-- Which messages of a connector reach which agent.
CREATE TABLE router_rules (
    id {text} PRIMARY KEY,
    connector_id {text} NOT NULL REFERENCES connectors (id),
    -- Empty: all conversations that have no rule of their own.
    conversation {text} NOT NULL,
    -- As a JSON object.
    rule {text} NOT NULL,
    -- Grows with each change.
    version {int} NOT NULL,
    created_at {int} NOT NULL,
    changed_at {int} NOT NULL
) {strict};
CREATE UNIQUE INDEX router_rules_by_place ON router_rules (connector_id, conversation);

-- What the node that runs a connector last said about it.
CREATE TABLE connector_status (
    connector_id {text} PRIMARY KEY REFERENCES connectors (id),
    node {text} NOT NULL,
    liveness {text} NOT NULL,
    -- How the connection is, as a JSON object.
    connection {text} NOT NULL,
    restarts {int} NOT NULL,
    last_error {text},
    last_error_at {int},
    told_at {int} NOT NULL
) {strict};

-- What happened to connectors, the last of it.
CREATE TABLE connector_events (
    id {text} PRIMARY KEY,
    connector_id {text} NOT NULL REFERENCES connectors (id),
    at {int} NOT NULL,
    kind {text} NOT NULL,
    detail {text}
) {strict};
CREATE INDEX connector_events_by_connector ON connector_events (connector_id, id);

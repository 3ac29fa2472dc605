-- What agents show in a session, as it is by the messages so far.
CREATE TABLE surfaces (
    session_id {text} NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    surface_id {text} NOT NULL,
    -- A JSON object.
    state {text} NOT NULL,
    -- Grows with each change.
    version {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (session_id, surface_id)
) {strict};
CREATE INDEX surfaces_by_change ON surfaces (updated_at);

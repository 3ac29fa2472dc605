-- What people did on a surface: words of ours, ids and numbers, and no text of theirs.
CREATE TABLE system_events (
    event_id {text} PRIMARY KEY,
    at {int} NOT NULL,
    kind {text} NOT NULL,
    surface {text} NOT NULL,
    section {text} NOT NULL,
    outcome {text} NOT NULL,
    -- Milliseconds.
    latency_ms {int} NOT NULL,
    session_id {text},
    run_id {text},
    summary {text} NOT NULL
) {strict};
CREATE INDEX system_events_by_time ON system_events (at, event_id);
CREATE INDEX system_events_by_kind ON system_events (kind, at);

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

-- How often a conversation was changed, by people or by what was said in it.
ALTER TABLE sessions ADD COLUMN version {int} NOT NULL DEFAULT 1;
-- What models are shown begins with the run of this place, and in the history with this one. 0: with the
-- first.
ALTER TABLE sessions ADD COLUMN shown_run {int} NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN shown_history {int} NOT NULL DEFAULT 0;
-- The conversation whose history comes before its own: what was shown of it then, and where it ends.
ALTER TABLE sessions ADD COLUMN forked_from {text};
ALTER TABLE sessions ADD COLUMN forked_run {int} NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN forked_history {int} NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN forked_until {int} NOT NULL DEFAULT 0;

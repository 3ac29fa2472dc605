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

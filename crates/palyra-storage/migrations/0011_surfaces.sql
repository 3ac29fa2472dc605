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

-- Side calls to models: what was asked, what came of it, and what it took.
CREATE TABLE auxiliary_tasks (
    id {text} PRIMARY KEY,
    -- What makes it the same task: its id, or what it is for where that is done once.
    key {text} NOT NULL UNIQUE,
    kind {text} NOT NULL,
    purpose {text} NOT NULL,
    state {text} NOT NULL,
    agent {text} NOT NULL,
    session_id {text},
    -- The run that it is a part of, on whose tape it is; null: it is one by itself.
    run_id {text},
    -- A JSON value; null: it is made of the tapes of the session.
    input {text},
    input_sha256 {text} NOT NULL,
    -- A JSON value: that of a model, or of a failed task the substitute.
    output {text},
    model {text},
    attempts {int} NOT NULL,
    -- Attempts that came to nothing by themselves.
    failures {int} NOT NULL,
    reserved_tokens {int} NOT NULL,
    reserved_micros {int} NOT NULL,
    -- Of which budgets that is set aside, as a JSON list.
    scopes {text} NOT NULL,
    spent_tokens {int} NOT NULL,
    spent_micros {int} NOT NULL,
    reason {text},
    detail {text},
    -- From when a worker may take it; null: one has it, it is part of a run, or it has ended.
    due_at {int},
    -- The fencing token of the worker that has it.
    worker {int},
    created_at {int} NOT NULL,
    begun_at {int},
    ended_at {int}
) {strict};
CREATE INDEX auxiliary_tasks_due ON auxiliary_tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX auxiliary_tasks_by_worker ON auxiliary_tasks (worker) WHERE worker IS NOT NULL;
CREATE INDEX auxiliary_tasks_by_run ON auxiliary_tasks (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX auxiliary_tasks_by_session ON auxiliary_tasks (session_id, id)
    WHERE session_id IS NOT NULL;
CREATE INDEX auxiliary_tasks_ended ON auxiliary_tasks (ended_at) WHERE ended_at IS NOT NULL;

-- What stands for the beginning of a conversation that is too long to be read as a whole.
CREATE TABLE session_summaries (
    session_id {text} PRIMARY KEY,
    -- The last place of the history that is in it.
    through {int} NOT NULL,
    -- From which place on models were shown the history when it was made: a reset makes it void.
    since {int} NOT NULL,
    text {text} NOT NULL,
    -- How far the least trusted text in it is trusted.
    trust {text} NOT NULL,
    task_id {text} NOT NULL,
    changed_at {int} NOT NULL
) {strict};

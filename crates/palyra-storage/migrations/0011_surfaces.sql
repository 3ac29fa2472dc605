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
    text {text} NOT NULL,
    -- How far the least trusted text in it is trusted.
    trust {text} NOT NULL,
    task_id {text} NOT NULL,
    changed_at {int} NOT NULL
) {strict};

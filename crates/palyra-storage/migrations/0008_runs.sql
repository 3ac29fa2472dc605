-- Who does the work: instructions, models, tools and limits, as a JSON object.
CREATE TABLE agents (
    id {text} PRIMARY KEY,
    spec {text} NOT NULL,
    -- Grows with each change.
    version {int} NOT NULL,
    created_at {int} NOT NULL,
    changed_at {int} NOT NULL
) {strict};

-- A conversation with an agent. Its history is the tapes of the runs that have ended.
CREATE TABLE sessions (
    id {text} PRIMARY KEY,
    key {text} NOT NULL UNIQUE,
    agent {text} NOT NULL,
    surface {text} NOT NULL,
    title {text} NOT NULL,
    -- Where answers go; null: they are only read from the tape.
    connector_id {text},
    conversation {text},
    -- The place of the next run, and that of the next one to end.
    next_run {int} NOT NULL,
    next_history {int} NOT NULL,
    -- The run that has the session; null: none. The others wait for it.
    holder {text},
    archived_at {int},
    created_at {int} NOT NULL,
    changed_at {int} NOT NULL
) {strict};
CREATE INDEX sessions_by_change ON sessions (changed_at, id);

CREATE TABLE runs (
    id {text} PRIMARY KEY,
    session_id {text} NOT NULL REFERENCES sessions (id),
    session_seq {int} NOT NULL,
    agent {text} NOT NULL,
    phase {text} NOT NULL,
    -- From when a worker may take it; null: one has it, or it waits for something else, or has ended.
    due_at {int},
    -- The fencing token of the worker that has it.
    worker {int},
    next_seq {int} NOT NULL,
    -- Its state after some event, so that not all of them have to be read; a JSON object.
    snapshot {text},
    snapshot_seq {int} NOT NULL,
    -- How often it was taken over since it last got any further.
    recoveries {int} NOT NULL,
    -- How long it has worked, in milliseconds.
    active {int} NOT NULL,
    -- Too late to begin.
    deadline {int} NOT NULL,
    -- Its place in the history of the session, once it has ended.
    history {int},
    tokens {int} NOT NULL,
    micros {int} NOT NULL,
    -- Why it ended.
    ended {text},
    -- The message that it answers, by the platform's name.
    answers {text},
    -- The run that waits for it, and the call there.
    parent {text},
    parent_call {text},
    depth {int} NOT NULL,
    created_at {int} NOT NULL,
    changed_at {int} NOT NULL
) {strict};
CREATE UNIQUE INDEX runs_by_session ON runs (session_id, session_seq);
CREATE UNIQUE INDEX runs_by_history ON runs (session_id, history) WHERE history IS NOT NULL;
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX runs_by_worker ON runs (worker) WHERE worker IS NOT NULL;
CREATE INDEX runs_open ON runs (session_id, session_seq) WHERE history IS NULL;
CREATE INDEX runs_by_change ON runs (changed_at) WHERE history IS NOT NULL;

-- What happened in a run, in order.
CREATE TABLE tape (
    run_id {text} NOT NULL,
    seq {int} NOT NULL,
    at {int} NOT NULL,
    kind {text} NOT NULL,
    -- 1: a model reads it.
    spoken {int} NOT NULL,
    payload {text} NOT NULL,
    PRIMARY KEY (run_id, seq)
) {strict};
CREATE INDEX tape_spoken ON tape (run_id, seq) WHERE spoken = 1;

-- What others want a worker to know about the run that it has.
CREATE TABLE run_signals (
    id {text} PRIMARY KEY,
    run_id {text} NOT NULL,
    signal {text} NOT NULL,
    at {int} NOT NULL
) {strict};
CREATE INDEX run_signals_by_run ON run_signals (run_id, id);

-- Questions to humans, and their answers.
CREATE TABLE approvals (
    id {text} PRIMARY KEY,
    subject {text} NOT NULL,
    -- What exactly is to be done, as it was shown, and its SHA-256.
    payload {text} NOT NULL,
    payload_sha256 {text} NOT NULL,
    summary {text} NOT NULL,
    risk {text} NOT NULL,
    -- Who asks.
    run_id {text},
    call {text},
    session_id {text},
    agent {text},
    state {text} NOT NULL,
    requested_at {int} NOT NULL,
    expires_at {int} NOT NULL,
    decided_at {int},
    decided_by {text},
    reason {text}
) {strict};
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_by_run ON approvals (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;

-- What may be used: by a session, by an agent, on a day.
CREATE TABLE budgets (
    scope {text} PRIMARY KEY,
    spent_tokens {int} NOT NULL,
    spent_micros {int} NOT NULL,
    reserved_tokens {int} NOT NULL,
    reserved_micros {int} NOT NULL,
    changed_at {int} NOT NULL
) {strict};

-- What is set aside for an answer that is not there yet.
CREATE TABLE budget_reservations (
    run_id {text} NOT NULL,
    turn {int} NOT NULL,
    attempt {int} NOT NULL,
    tokens {int} NOT NULL,
    micros {int} NOT NULL,
    -- Of which budgets, as a JSON list.
    scopes {text} NOT NULL,
    PRIMARY KEY (run_id, turn, attempt)
) {strict};

-- Spelled once for both engines: {text}, {int}, {bytes} and {strict} stand for the engine's own
-- words, and what only one of them needs follows a line of the form "--! engine".

CREATE TABLE leases (
    name {text} PRIMARY KEY,
    owner {text} NOT NULL,
    token {int} NOT NULL,
    -- 0: given back.
    expires_at {int} NOT NULL,
    touched_at {int} NOT NULL
) {strict};
CREATE INDEX leases_by_owner ON leases (owner);

-- Numbers that must follow the order of commits.
CREATE TABLE counters (
    name {text} PRIMARY KEY,
    value {int} NOT NULL
) {strict};
INSERT INTO counters (name, value) VALUES ('events', 0);

CREATE TABLE events (
    seq {int} PRIMARY KEY,
    at {int} NOT NULL,
    kind {text} NOT NULL,
    subject {text} NOT NULL,
    body {text} NOT NULL
) {strict};

CREATE TABLE journal (
    seq {int} PRIMARY KEY,
    segment {int} NOT NULL,
    event_id {text} NOT NULL UNIQUE,
    at {int} NOT NULL,
    actor {text} NOT NULL,
    action {text} NOT NULL,
    subject {text} NOT NULL,
    origin {text} NOT NULL,
    outcome {text} NOT NULL,
    detail {text} NOT NULL,
    content_digest {bytes},
    -- Not part of the chain: forgetting the salt makes the digest of purged content meaningless.
    content_salt {bytes},
    hash {bytes} NOT NULL
) {strict};
CREATE INDEX journal_by_segment ON journal (segment, seq);

CREATE TABLE journal_head (
    id {int} PRIMARY KEY CHECK (id = 1),
    seq {int} NOT NULL,
    segment {int} NOT NULL,
    segment_first_seq {int} NOT NULL,
    segment_opened_at {int} NOT NULL,
    hash {bytes} NOT NULL
) {strict};

CREATE TABLE journal_segments (
    segment {int} PRIMARY KEY,
    first_seq {int} NOT NULL,
    last_seq {int} NOT NULL,
    final_hash {bytes} NOT NULL,
    sealed_at {int} NOT NULL,
    pruned_at {int}
) {strict};

CREATE TABLE blobs (
    sha256 {text} PRIMARY KEY,
    -- Part of the object's name: what is being deleted and what is put again never meet.
    generation {text} NOT NULL,
    size {int} NOT NULL,
    state {text} NOT NULL CHECK (state IN ('uploading', 'live', 'deleting')),
    -- How many rows of blob_references name it.
    holders {int} NOT NULL,
    touched_at {int} NOT NULL
) {strict};
CREATE INDEX blobs_unheld ON blobs (touched_at) WHERE holders = 0;

-- Objects whose deletion had begun when their content was put again.
CREATE TABLE blob_trash (
    generation {text} PRIMARY KEY,
    sha256 {text} NOT NULL
) {strict};

CREATE TABLE blob_references (
    sha256 {text} NOT NULL REFERENCES blobs (sha256),
    holder {text} NOT NULL,
    PRIMARY KEY (sha256, holder)
) {strict};

--! sqlite
INSERT INTO counters (name, value) VALUES ('fencing', 0);
INSERT INTO journal_head (id, seq, segment, segment_first_seq, segment_opened_at, hash)
    VALUES (1, 0, 1, 1, 0, zeroblob(32));

--! postgres
-- A counter row would make every commit that takes a lease wait for the one before it.
CREATE SEQUENCE fencing_tokens;
INSERT INTO journal_head (id, seq, segment, segment_first_seq, segment_opened_at, hash)
    VALUES (1, 0, 1, 1, 0, decode(repeat('00', 32), 'hex'));
CREATE TABLE commit_marks (
    slot {text} PRIMARY KEY,
    node {text} NOT NULL,
    unit {text},
    at {int} NOT NULL
);

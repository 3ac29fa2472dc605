CREATE TABLE principals (
    id {text} PRIMARY KEY,
    role {text} NOT NULL,
    created_at {int} NOT NULL,
    disabled_at {int}
) {strict};

-- Single-use links and codes. Only the digest is kept.
CREATE TABLE login_codes (
    digest {bytes} PRIMARY KEY,
    -- first_login creates the owner; handoff logs its principal in once more.
    purpose {text} NOT NULL CHECK (purpose IN ('first_login', 'handoff')),
    principal {text} NOT NULL,
    -- A JSON list: the login has no more than this. NULL: all that the role allows.
    scopes {text},
    -- Nothing that comes from this code lasts longer. NULL: its maker has no end either.
    limit_at {int},
    created_at {int} NOT NULL,
    expires_at {int} NOT NULL,
    used_at {int},
    -- When it was first tried in vain: only that is written to the journal.
    refused_at {int}
) {strict};
CREATE INDEX login_codes_by_expiry ON login_codes (expires_at);

CREATE TABLE api_tokens (
    id {text} PRIMARY KEY,
    digest {bytes} NOT NULL UNIQUE,
    name {text} NOT NULL,
    principal {text} NOT NULL REFERENCES principals (id),
    -- A JSON list.
    scopes {text} NOT NULL,
    created_at {int} NOT NULL,
    expires_at {int},
    last_used_at {int},
    revoked_at {int},
    -- The earlier of expiry and revocation: what retention counts from.
    void_at {int}
) {strict};
CREATE INDEX api_tokens_by_void ON api_tokens (void_at);

CREATE TABLE console_logins (
    id {text} PRIMARY KEY,
    digest {bytes} NOT NULL UNIQUE,
    principal {text} NOT NULL REFERENCES principals (id),
    -- Both as in login_codes.
    scopes {text},
    limit_at {int},
    created_at {int} NOT NULL,
    last_seen_at {int} NOT NULL,
    expires_at {int} NOT NULL,
    ended_at {int},
    -- The earlier of expiry and end.
    void_at {int} NOT NULL
) {strict};
CREATE INDEX console_logins_by_void ON console_logins (void_at);

-- What is needed to tell whether a master key is the right one, never the key.
CREATE TABLE vault_keys (
    id {text} PRIMARY KEY,
    source {text} NOT NULL,
    -- A known text locked with the key.
    probe {bytes} NOT NULL,
    -- How a passphrase becomes the key, as a JSON object.
    derivation {text} NOT NULL,
    -- 1 for the key in use, of which there is at most one; null for keys of the past.
    in_use {int} UNIQUE CHECK (in_use = 1),
    created_at {int} NOT NULL,
    retired_at {int}
) {strict};

-- A value is locked with a key of its own, and that one with the master key. Both columns begin
-- with their nonce.
CREATE TABLE secrets (
    scope {text} NOT NULL,
    name {text} NOT NULL,
    version {int} NOT NULL,
    key_id {text} NOT NULL REFERENCES vault_keys (id),
    wrapped_key {bytes} NOT NULL,
    ciphertext {bytes} NOT NULL,
    created_at {int} NOT NULL,
    created_by {text} NOT NULL,
    PRIMARY KEY (scope, name, version)
) {strict};
CREATE INDEX secrets_by_key ON secrets (key_id);

-- Requests that were carried out and must not be again. Of a request only its SHA-256 is kept.
CREATE TABLE idempotency_keys (
    principal {text} NOT NULL,
    operation {text} NOT NULL,
    key {text} NOT NULL,
    request {bytes} NOT NULL,
    -- What came of it, by its id or another value that is no secret.
    made {text} NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (principal, operation, key)
) {strict};
CREATE INDEX idempotency_keys_by_creation ON idempotency_keys (created_at);

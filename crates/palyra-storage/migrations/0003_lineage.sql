-- The credential that made this one, token:ID or login:ID: what ends the one ends the other. NULL:
-- the local owner, or somebody before this was kept.
ALTER TABLE api_tokens ADD COLUMN made_by {text};
CREATE INDEX api_tokens_by_maker ON api_tokens (made_by) WHERE made_by IS NOT NULL;

ALTER TABLE console_logins ADD COLUMN made_by {text};
CREATE INDEX console_logins_by_maker ON console_logins (made_by) WHERE made_by IS NOT NULL;

ALTER TABLE login_codes ADD COLUMN made_by {text};
-- When it ended with its maker, before it was used.
ALTER TABLE login_codes ADD COLUMN ended_at {int};
CREATE INDEX login_codes_by_maker ON login_codes (made_by) WHERE made_by IS NOT NULL;

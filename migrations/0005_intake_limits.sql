-- The first answer to a request with an Idempotency-Key; only accepted requests leave a row.
CREATE TABLE idempotency_keys (
    route       text        NOT NULL,
    actor       text        NOT NULL,
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,
    answer      jsonb,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (route, actor, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- When the customer's last accepted tickets came, oldest first, at most as many as the limit allows a minute.
CREATE TABLE rate_windows (
    customer_id text          PRIMARY KEY REFERENCES customers ON DELETE CASCADE,
    accepted_at timestamptz[] NOT NULL
);

-- The provider's quota and health, shared by all instances. One row a thing; each changes only in its own statement,
-- never inside an arrow, so that no two statements lock in different orders.

-- Levels of a bucket at the time `at`; what a limit allows is known to the app, so infinity means "full".
CREATE TABLE provider_lane (
    name         text             PRIMARY KEY,
    calls        double precision NOT NULL DEFAULT 'infinity',
    tokens       double precision NOT NULL DEFAULT 'infinity',
    mean_tokens  double precision NOT NULL DEFAULT 0,  -- what a call takes, for the forecast
    at           timestamptz      NOT NULL DEFAULT clock_timestamp(),
    paused_until timestamptz,
    refusals     integer          NOT NULL DEFAULT 0   -- in a row, of calls that the lane had let through
);
INSERT INTO provider_lane (name) VALUES ('chat');

CREATE TABLE provider_breakers (
    endpoint        text          PRIMARY KEY CHECK (endpoint IN ('chat', 'embeddings')),
    is_open         boolean       NOT NULL DEFAULT false,
    failures        integer       NOT NULL DEFAULT 0,     -- in a row
    failed_call_at  timestamptz   NOT NULL DEFAULT '-infinity',  -- when the youngest call that failed began
    trials          integer       NOT NULL DEFAULT 0,     -- failed in a row since it opened
    opened_at       timestamptz   NOT NULL DEFAULT '-infinity',
    retry_at        timestamptz,
    reason          text,
    trial_id        uuid,
    trial_until     timestamptz,
    last_success_at timestamptz   NOT NULL DEFAULT clock_timestamp(),
    out_until       timestamptz[] NOT NULL DEFAULT '{}',  -- calls out while nothing has succeeded for a minute
    CONSTRAINT open_says_when CHECK (NOT is_open OR (retry_at IS NOT NULL AND reason IS NOT NULL))
);
INSERT INTO provider_breakers (endpoint) VALUES ('chat'), ('embeddings');

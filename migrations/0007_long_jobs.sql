-- Jobs that take minutes and wait for people: options of the caller, planned steps, approvals, artifacts, webhooks.
ALTER TABLE jobs
    ADD COLUMN wants_approval boolean NOT NULL DEFAULT false,
    ADD COLUMN webhook_url    text,
    ADD COLUMN about_job_id   bigint REFERENCES jobs ON DELETE CASCADE,  -- what a webhook's delivery is about
    ADD COLUMN share          text;  -- jobs with the same word share a limit of how many may be under way
CREATE INDEX jobs_sharing ON jobs (share) WHERE share IS NOT NULL AND state IN ('queued', 'running');
CREATE INDEX jobs_webhooks ON jobs (about_job_id, job_id) WHERE about_job_id IS NOT NULL;
CREATE INDEX jobs_waiting ON jobs (job_id) WHERE state = 'waiting_for_approval';

ALTER TABLE job_steps DROP CONSTRAINT job_steps_state_check;
ALTER TABLE job_steps ADD CONSTRAINT job_steps_state_check CHECK (state IN ('pending', 'running', 'succeeded'));
ALTER TABLE job_steps ALTER COLUMN started_at DROP NOT NULL;

-- One row a question put to people; the newest of a job is the one that counts.
CREATE TABLE approvals (
    approval_id bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id      bigint      NOT NULL REFERENCES jobs ON DELETE CASCADE,
    step        text        NOT NULL,
    state       text        NOT NULL DEFAULT 'waiting'
                            CHECK (state IN ('waiting', 'approved', 'rejected', 'expired', 'cancelled')),
    asked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at  timestamptz NOT NULL,
    decided_by  text,
    decided_at  timestamptz,
    comment     text,
    CONSTRAINT decided_says_when CHECK ((state = 'waiting') = (decided_at IS NULL))
);
CREATE INDEX approvals_by_job ON approvals (job_id, approval_id);
CREATE INDEX approvals_waiting ON approvals (expires_at) WHERE state = 'waiting';

CREATE TABLE artifacts (
    job_id       bigint      NOT NULL REFERENCES jobs ON DELETE CASCADE,
    name         text        NOT NULL,
    token        text        NOT NULL,
    content_type text        NOT NULL,
    content      bytea       NOT NULL CHECK (octet_length(content) <= 5242880),
    sha256       text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (job_id, name)
);
ALTER TABLE artifacts ALTER COLUMN content SET STORAGE EXTERNAL;  -- sizes are asked for without unpacking

-- Permits that tickets took since a report had one: while a ticket waits, a report gets one in four.
ALTER TABLE provider_lane ADD COLUMN since_report integer NOT NULL DEFAULT 0;

-- A webhook's delivery is a job of its own, made by the database whenever a job with a webhook_url reaches a state
-- that its caller wants to hear of: no arrow can forget it, and it has the claim, fence, retries, sweep and dead
-- letters of every other job.
CREATE FUNCTION tell_webhook() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told bigint;
BEGIN
    INSERT INTO jobs (kind, queue, workspace_id, actor, max_attempts, deadline_s, about_job_id, request_id, traceparent,
                      share, input)
    VALUES ('webhook', 'webhooks', NEW.workspace_id, 'job:' || NEW.job_id, 1000, 900, NEW.job_id, NEW.request_id,
            NEW.traceparent, lower(regexp_replace(substring(NEW.webhook_url FROM '//([^/?#]+)'), '\.?(:443)?$', '')),
            jsonb_build_object('url', NEW.webhook_url, 'type', 'job.' || NEW.state, 'at', clock_timestamp(),
                'data', jsonb_build_object('job_id', NEW.job_id, 'kind', NEW.kind, 'workspace_id', NEW.workspace_id,
                    'state', NEW.state, 'result', NEW.result,
                    'error', CASE WHEN NEW.last_error IS NOT NULL THEN
                        jsonb_build_object('code', NEW.last_error->'code', 'message', NEW.last_error->'message') END)))
    RETURNING job_id INTO told;
    INSERT INTO outbox (queue, purpose, job_id, delivery) VALUES ('webhooks', 'work', told, 1);
    RETURN NULL;
END $$;

CREATE TRIGGER tell_webhook AFTER UPDATE OF state ON jobs FOR EACH ROW
    WHEN (NEW.webhook_url IS NOT NULL AND NEW.state <> OLD.state
          AND NEW.state IN ('succeeded', 'failed', 'dead_letter', 'cancelled', 'waiting_for_approval'))
    EXECUTE FUNCTION tell_webhook();

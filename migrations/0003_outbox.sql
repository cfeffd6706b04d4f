-- What has to be put on a queue. A row is made by the arrow that needs it, in the same statement, and deleted
-- after the put. `delivery` must still be the job's number, otherwise the row is out of date and is dropped.
CREATE TABLE outbox (
    outbox_id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue         text        NOT NULL,  -- tickets, reports
    purpose       text        NOT NULL CHECK (purpose IN ('work', 'poison')),
    job_id        bigint      NOT NULL REFERENCES jobs ON DELETE CASCADE,
    delivery      integer     NOT NULL,
    endpoint      text,                  -- what the job's next step calls: rows for one do not hide those for another
    due_at        timestamptz NOT NULL DEFAULT now(),
    created_at    timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    attempts      integer     NOT NULL DEFAULT 0,  -- puts that the queue refused
    last_error    text
);
CREATE INDEX outbox_due ON outbox (queue, purpose, coalesce(endpoint, ''), due_at, job_id);
CREATE INDEX outbox_by_job ON outbox (job_id);
CREATE INDEX outbox_claimed ON outbox (claimed_until) WHERE claimed_until IS NOT NULL;

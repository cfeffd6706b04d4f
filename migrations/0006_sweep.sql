-- What the sweep needs to tell a lost message from a slow one, and to keep the poison queues in step with the rows.
ALTER TABLE job_runs ADD COLUMN queue text, ADD COLUMN announced_at timestamptz;  -- of the message that was claimed
CREATE INDEX job_runs_claimed ON job_runs (queue, announced_at) WHERE announced_at IS NOT NULL;
CREATE INDEX job_runs_by_start ON job_runs (started_at);

CREATE TABLE poison_passes (
    queue       text        PRIMARY KEY,
    held_until  timestamptz NOT NULL DEFAULT '-infinity',
    done_at     timestamptz NOT NULL DEFAULT '-infinity',
    strays      integer     NOT NULL DEFAULT 0,      -- messages that are no job at all, as last counted
    is_wanted   boolean     NOT NULL DEFAULT false   -- a dead letter has left since the last complete pass
);

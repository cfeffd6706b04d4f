-- The state machine. Its arrows are listed in shared/jobs/__init__.py; the CHECKs hold what no arrow may break.
CREATE TABLE jobs (
    job_id           bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind             text             NOT NULL,
    queue            text             NOT NULL,  -- which work queue announces it: tickets or reports
    ticket_id        bigint           UNIQUE REFERENCES tickets ON DELETE CASCADE,
    workspace_id     text             NOT NULL,
    actor            text             NOT NULL,
    input            jsonb            NOT NULL DEFAULT '{}',
    request_id       text,
    traceparent      text,

    state            text             NOT NULL DEFAULT 'queued',
    delivery         integer          NOT NULL DEFAULT 1,  -- the one message number that counts
    run              integer          NOT NULL DEFAULT 0,  -- the fence: raised by every claim, never lowered
    attempts         integer          NOT NULL DEFAULT 0,  -- only a budget
    max_attempts     integer          NOT NULL CHECK (max_attempts >= 1),
    deadline_s       double precision NOT NULL CHECK (deadline_s > 0),
    ran_s            double precision NOT NULL DEFAULT 0,
    run_after        timestamptz      NOT NULL DEFAULT now(),
    created_at       timestamptz      NOT NULL DEFAULT now(),
    started_at       timestamptz,
    finished_at      timestamptz,

    claim_id         uuid,
    run_started_at   timestamptz,
    locked_until     timestamptz,
    losses           integer          NOT NULL DEFAULT 0,  -- leases lost since a person last touched it

    announced_at     timestamptz,                          -- its message was put; NULL while the outbox holds it
    unclaimed        integer          NOT NULL DEFAULT 0,  -- announcements in a row that nobody claimed

    endpoint         text,                                 -- what its next step calls: chat, embeddings or nothing
    chat_calls_left  integer          NOT NULL DEFAULT 0,

    progress         smallint         NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    cancel_requested boolean          NOT NULL DEFAULT false,
    last_error       jsonb,
    result           jsonb,

    poison_message_id text,
    poison_put_at     timestamptz,
    discarded_by      text,
    discarded_at      timestamptz,

    CONSTRAINT state_is_known CHECK (state IN
        ('queued', 'running', 'waiting_for_approval', 'succeeded', 'failed', 'cancelled', 'dead_letter')),
    CONSTRAINT running_has_a_lease CHECK (
        num_nonnulls(claim_id, run_started_at, locked_until) = CASE state WHEN 'running' THEN 3 ELSE 0 END),
    CONSTRAINT finished_has_a_time CHECK ((state IN ('succeeded', 'failed', 'cancelled', 'dead_letter')) =
        (finished_at IS NOT NULL)),
    CONSTRAINT succeeded_has_a_result CHECK ((state = 'succeeded') = (result IS NOT NULL)),
    CONSTRAINT trouble_has_a_reason CHECK (state NOT IN ('failed', 'dead_letter') OR last_error IS NOT NULL),
    CONSTRAINT announced_only_while_queued CHECK (announced_at IS NULL OR state = 'queued'),
    CONSTRAINT poison_only_for_dead_letters CHECK (poison_message_id IS NULL OR state = 'dead_letter'),
    CONSTRAINT attempts_within_budget CHECK (attempts BETWEEN 0 AND max_attempts),
    CONSTRAINT discard_says_who CHECK ((discarded_by IS NULL) = (discarded_at IS NULL))
) WITH (fillfactor = 85);  -- room for heartbeats and progress to stay on the page (no index holds what they change)

CREATE INDEX jobs_queued  ON jobs (kind, run_after, job_id) WHERE state = 'queued';
CREATE INDEX jobs_announced ON jobs (queue, announced_at) WHERE state = 'queued' AND announced_at IS NOT NULL;
CREATE INDEX jobs_running ON jobs (queue, job_id) WHERE state = 'running';
CREATE INDEX jobs_by_state ON jobs (state, job_id);
CREATE INDEX jobs_by_kind ON jobs (kind, job_id);
CREATE INDEX jobs_by_workspace ON jobs (workspace_id, job_id);
CREATE INDEX jobs_by_end ON jobs (finished_at) WHERE finished_at IS NOT NULL;

-- One row a finished or begun step; `output` is what a later run continues from, gone once the job succeeded.
CREATE TABLE job_steps (
    job_id      bigint      NOT NULL REFERENCES jobs ON DELETE CASCADE,
    name        text        NOT NULL,
    position    integer     NOT NULL,
    state       text        NOT NULL CHECK (state IN ('running', 'succeeded')),
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    detail      text,
    output      jsonb,
    PRIMARY KEY (job_id, name),
    CONSTRAINT finished_step_has_a_time CHECK ((state = 'succeeded') = (finished_at IS NOT NULL))
);

-- The history: one row a run, opened by the claim, closed by the arrow out of running.
CREATE TABLE job_runs (
    job_id     bigint      NOT NULL REFERENCES jobs ON DELETE CASCADE,
    run        integer     NOT NULL,
    attempt    integer     NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    outcome    text        CHECK (outcome IN ('succeeded', 'failed', 'cancelled', 'dead_letter',
                                  'waiting_for_approval', 'retry', 'quota', 'breaker', 'slice', 'shutdown', 'lost')),
    error      jsonb,
    PRIMARY KEY (job_id, run),
    CONSTRAINT ended_run_has_an_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL))
);

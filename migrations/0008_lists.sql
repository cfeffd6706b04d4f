-- no transaction
-- Lists by any filters together, without a look at what does not fit. The parts of `jobs` that a list is made of are
-- the pairs of state and kind; in every index a pair's jobs lie together, newest last. The version before finds its
-- rows by these, too. DROP before CREATE: an index whose making was cut off is there, and invalid.
DROP INDEX CONCURRENTLY IF EXISTS jobs_listed;
CREATE INDEX CONCURRENTLY jobs_listed ON jobs (state, kind, job_id);
DROP INDEX CONCURRENTLY IF EXISTS jobs_listed_by_workspace;
CREATE INDEX CONCURRENTLY jobs_listed_by_workspace ON jobs (workspace_id, state, kind, job_id);
DROP INDEX CONCURRENTLY IF EXISTS jobs_listed_by_error;
CREATE INDEX CONCURRENTLY jobs_listed_by_error ON jobs ((last_error->>'code'), state, kind, job_id)
    WHERE last_error IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS jobs_listed_by_workspace_and_error;
CREATE INDEX CONCURRENTLY jobs_listed_by_workspace_and_error
    ON jobs (workspace_id, (last_error->>'code'), state, kind, job_id) WHERE last_error IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_state;
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_kind;
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_workspace;

-- Tickets by the state of their job: nearly all have succeeded, so a list of those reads tickets, and the rest is few.
DROP INDEX CONCURRENTLY IF EXISTS jobs_of_tickets;
CREATE INDEX CONCURRENTLY jobs_of_tickets ON jobs (state, ticket_id)
    WHERE ticket_id IS NOT NULL AND state <> 'succeeded';
DROP INDEX CONCURRENTLY IF EXISTS jobs_of_tickets_by_workspace;
CREATE INDEX CONCURRENTLY jobs_of_tickets_by_workspace ON jobs (workspace_id, state, ticket_id)
    WHERE ticket_id IS NOT NULL AND state <> 'succeeded';
DROP INDEX CONCURRENTLY IF EXISTS tickets_by_workspace;
CREATE INDEX CONCURRENTLY tickets_by_workspace ON tickets (workspace_id, ticket_id);
DROP INDEX CONCURRENTLY IF EXISTS tickets_by_workspace_and_team;
CREATE INDEX CONCURRENTLY tickets_by_workspace_and_team ON tickets (workspace_id, team, ticket_id);

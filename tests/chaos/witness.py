"""The witness: triggers of the chaos database that write down every change the auditor has to judge."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.chaos.snapshot import Change

# A row's trigger runs while the row is locked, so that the changes of one job are numbered in their order.
INSTALL = """
CREATE TABLE chaos_witness (
    seq     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    place   text        NOT NULL,
    number  bigint      NOT NULL,
    run     integer,
    before  jsonb,
    after   jsonb
);
CREATE FUNCTION chaos_note() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - 'embedding' END;
    after  jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - 'embedding' END;
    known  jsonb := coalesce(after, before);
BEGIN
    INSERT INTO chaos_witness (place, number, run, before, after)
    VALUES (TG_TABLE_NAME, coalesce(known->>'job_id', known->>'ticket_id')::bigint,
            (SELECT run FROM jobs WHERE job_id = (known->>'job_id')::bigint), before, after);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_arrow AFTER UPDATE ON jobs FOR EACH ROW
    WHEN ((OLD.state, OLD.run, OLD.delivery, OLD.result)
          IS DISTINCT FROM (NEW.state, NEW.run, NEW.delivery, NEW.result))
    EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_step AFTER INSERT OR UPDATE ON job_steps FOR EACH ROW EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_run AFTER UPDATE ON job_runs FOR EACH ROW WHEN (OLD.outcome IS NOT NULL)
    EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_ticket AFTER UPDATE ON tickets FOR EACH ROW WHEN (OLD.draft_reply IS NOT NULL)
    EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_job_gone AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_step_gone AFTER DELETE ON job_steps FOR EACH ROW EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_run_gone AFTER DELETE ON job_runs FOR EACH ROW EXECUTE FUNCTION chaos_note();
CREATE TRIGGER chaos_ticket_gone AFTER DELETE ON tickets FOR EACH ROW EXECUTE FUNCTION chaos_note();
"""

SEEN = "SELECT at, place AS table, number, run, before, after FROM chaos_witness ORDER BY seq"


def install(connection: psycopg.Connection[Any]) -> None:
    """Put the triggers in place; to be done once, on the migrated schema."""
    connection.execute(INSTALL)


def seen(connection: psycopg.Connection[dict[str, Any]]) -> tuple[Change, ...]:
    """All changes so far, in order."""
    return tuple(Change(**row) for row in connection.execute(SEEN))

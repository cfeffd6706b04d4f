"""Files that a job makes, kept in Postgres beside it."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Any, LiteralString

from shared.db import Database

MAX_BYTES = 5 * 1024 * 1024

# Part of the arrows' statements, over `gone` (the job's row after the arrow).
KEEP: LiteralString = """, kept AS (
    INSERT INTO artifacts (job_id, name, token, content_type, content, sha256)
    SELECT gone.job_id, file.* FROM gone, unnest(%(artifact_names)s::text[], %(artifact_tokens)s::text[],
        %(artifact_types)s::text[], %(artifact_contents)s::bytea[], %(artifact_hashes)s::text[]) AS file
    WHERE gone.state <> 'cancelled'
    ON CONFLICT (job_id, name) DO UPDATE SET token = excluded.token, content_type = excluded.content_type,
        content = excluded.content, sha256 = excluded.sha256, created_at = clock_timestamp()
)
"""

FIND: LiteralString = """
SELECT name, token, content_type, content, sha256 FROM artifacts WHERE job_id = %(job_id)s AND name = %(name)s
"""


_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)  # what kinds call their files


class ArtifactTooLarge(Exception):
    """A file over the size that is kept."""


@dataclass(frozen=True)
class Artifact:
    """A file: its name from its kind's fixed set, a content type, bytes, and the token that opens it (128 bits)."""

    name: str
    content_type: str
    content: bytes
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def address(job_id: int, name: str, token: str) -> str:
    """Where a browser finds it."""
    return f"/v1/artifacts/{job_id}/{name}?token={token}"


def checked(files: tuple[Artifact, ...]) -> tuple[Artifact, ...]:
    """The same files. Raises ArtifactTooLarge."""
    for file in files:
        if len(file.content) > MAX_BYTES:
            raise ArtifactTooLarge(f"{file.name} has {len(file.content)} bytes, at most {MAX_BYTES} are kept.")
    return files


def params(files: tuple[Artifact, ...]) -> dict[str, Any]:
    """The parameters of KEEP."""
    return {
        "artifact_names": [file.name for file in files],
        "artifact_tokens": [file.token for file in files],
        "artifact_types": [file.content_type for file in files],
        "artifact_contents": [file.content for file in files],
        "artifact_hashes": [file.sha256 for file in files],
    }


async def find(db: Database, job_id: int, name: str, token: str) -> Artifact | None:
    """The file, for who has its token; None otherwise, so that nobody learns which files there are."""
    if not _NAME.fullmatch(name):
        return None
    row = await db.fetch_dict(FIND, {"job_id": job_id, "name": name})
    if row is None or not secrets.compare_digest(row["token"].encode(), token.encode()):
        return None
    return Artifact(row["name"], row["content_type"], bytes(row["content"]), row["token"])

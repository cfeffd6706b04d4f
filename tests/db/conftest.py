"""What several tests on real Postgres start from."""

from __future__ import annotations

import pytest

from shared.db import Database
from shared.provider.breaker import Breaker


@pytest.fixture
def chat(db: Database) -> Breaker:
    return Breaker(db, "chat", lease_s=15, threshold=3)

"""`make reset`: forget everything that a local copy has stored."""

import shutil

from simulator.stack.local_settings import own_database_url
from simulator.stack.lock import only_one
from simulator.stack.postgres import erase_cluster
from simulator.stack.settings import StackSettings


def reset(settings: StackSettings) -> None:
    """Remove the embedded Postgres's cluster, Azurite's files and the logs; what was installed stays."""
    busy = f"a copy runs on {settings.local_dir}: stop it first"
    with only_one(settings.local_dir / "run.lock", refusal=busy):
        erase_cluster(settings.local_dir / "postgres")
        for folder in ("azurite", "logs"):
            shutil.rmtree(settings.local_dir / folder, ignore_errors=True)
    print(f"Cleared {settings.local_dir}")
    if settings.database_url or own_database_url():
        print("The database of DATABASE_URL is yours and was left alone: python -m simulator.data --reset clears it")

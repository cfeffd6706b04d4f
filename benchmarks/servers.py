"""Servers of a benchmark's own: a Postgres that writes to the disk, Azurite and the provider, gone afterwards."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.site import Site, make_database, make_provider
from simulator.stack.azurite import Azurite
from simulator.stack.postgres import Postgres


@contextmanager
def open_site(**weather: Any) -> Iterator[Site]:
    """A site on free ports; `weather` as in simulator.provider.weather, the recorded one unless said otherwise."""
    with open_sites("bench", weather=weather) as (site,):
        yield site


@contextmanager
def open_sites(*names: str, weather: Mapping[str, Any]) -> Iterator[list[Site]]:
    """Several sites with a database each, on the same servers."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # Postgres runs under another account where we are root
        with (
            Postgres(folder / "cluster") as postgres,
            Azurite(folder / "storage") as azurite,
            make_provider(folder, weather) as provider,
        ):
            storage = azurite.connection_string
            yield [Site(name, make_database(postgres.url, name), storage, provider.url, folder) for name in names]

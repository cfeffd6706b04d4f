"""The deployment that is prepared, as the outputs of main.bicep describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class Incomplete(Exception):
    """The environment lacks outputs of the deployment."""


@dataclass(frozen=True)
class Deployment:
    """`server_id` is the server's resource id, `admin` the Postgres role of who runs this."""

    server_id: str
    host: str
    database: str
    admin: str
    app_role: str
    app_object_id: str
    is_private: bool

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Deployment:
        """The deployment of azd's environment. Raises Incomplete, naming what is missing."""
        names = {
            "server_id": "DATABASE_SERVER_ID",
            "host": "DATABASE_HOST",
            "database": "DATABASE_NAME",
            "admin": "DATABASE_ADMIN",
            "app_role": "DATABASE_APP_ROLE",
            "app_object_id": "DATABASE_APP_OBJECT_ID",
        }
        if missing := [name for name in (*names.values(), "NETWORK_MODE") if not environment.get(name)]:
            raise Incomplete(f"not set: {', '.join(missing)} (azd sets them, or see the outputs of the deployment)")
        values = {field: environment[name] for field, name in names.items()}
        return cls(**values, is_private=environment["NETWORK_MODE"] == "private")

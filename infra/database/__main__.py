"""`python -m infra.database`: prepare the database of the deployment that the environment describes.

Run by azd after every `azd provision`, as the administrator of the database. What is there already stays as it is, and
each step says what it did. In private mode it has to run inside the virtual network.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import psycopg
from azure.core.credentials import TokenCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import AzureCliCredential, AzureDeveloperCliCredential, ChainedTokenCredential

from infra.database.deployment import Deployment, Incomplete
from infra.database.door import Closed, open_door, own_address
from infra.database.roles import Label, ensure_role, label_role
from infra.database.server import OWNER, Server
from migrations.__main__ import ChangedMigration, migrate
from migrations.grants import UnknownTables

TROUBLE = (
    Incomplete,
    Closed,
    ClientAuthenticationError,
    httpx.HTTPError,
    psycopg.Error,
    UnknownTables,
    ChangedMigration,
)

FOR_POSTGRES = "https://ossrdbms-aad.database.windows.net/.default"
FOR_AZURE = "https://management.azure.com/.default"


def prepare(server: Server, deployment: Deployment, *, label: Label = label_role) -> None:
    """Role, extension, schema, rights; what is there already stays as it is."""
    with server.connect(deployment.database) as connection:
        is_new = ensure_role(connection, deployment, label)
        print(f"role {deployment.app_role}: {'made' if is_new else 'there'}")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    applied = migrate(server.address(deployment.database, role=OWNER), app_role=deployment.app_role)
    print(f"schema: {f'{len(applied)} migrations applied' if applied else 'the newest already'}")
    print(f"rights of {deployment.app_role}: as in migrations/grants.py")


@contextmanager
def reachable(deployment: Deployment, http: httpx.Client, azure_token: Callable[[], str]) -> Iterator[None]:
    """Let this machine reach the server; in private mode the network has to."""
    if deployment.is_private:
        yield
        return
    address = os.environ.get("DEPLOYER_IP") or own_address(http)
    with open_door(http, deployment.server_id, address, azure_token):
        print(f"firewall: {address} may connect for now", flush=True)
        yield
    print(f"firewall: {address} may not connect any more", flush=True)


def main() -> int:
    try:
        deployment = Deployment.read(os.environ)
        credential = ChainedTokenCredential(
            AzureDeveloperCliCredential(process_timeout=60), AzureCliCredential(process_timeout=60)
        )
        server = Server(deployment.host, 5432, deployment.admin, _token(credential, FOR_POSTGRES))
        with httpx.Client(timeout=30) as http, reachable(deployment, http, _token(credential, FOR_AZURE)):
            server.wait(deployment.database)
            prepare(server, deployment)
    except TROUBLE as error:
        print(f"database: {str(error).strip()}", file=sys.stderr)
        if os.environ.get("NETWORK_MODE") == "private":
            print("in private mode, run `azd hooks run postprovision` inside the virtual network", file=sys.stderr)
        return 1
    return 0


def _token(credential: TokenCredential, scope: str) -> Callable[[], str]:
    return lambda: credential.get_token(scope).token


if __name__ == "__main__":
    sys.exit(main())

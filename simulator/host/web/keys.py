"""Function keys, as with `func start --enableAuth` and in Azure; without that switch all keys are ignored (C2)."""

import secrets
from dataclasses import dataclass

from simulator.host.settings import Settings
from simulator.host.times import PREFIX
from simulator.host.web.request import Request

MASTER_SETTING = PREFIX + "MASTER_KEY"
FUNCTION_SETTING = PREFIX + "FUNCTION_KEY"


@dataclass(frozen=True)
class Keyring:
    """The app's two keys: the master key opens everything, the function key all that is not `admin`."""

    master: str
    function: str

    @classmethod
    def from_settings(cls, settings: Settings) -> "Keyring":
        """The keys that are set; those that are not are made up for this one life of the host."""
        return cls(
            master=settings.find(MASTER_SETTING) or secrets.token_urlsafe(),
            function=settings.find(FUNCTION_SETTING) or secrets.token_urlsafe(),
        )

    def opens(self, level: str, request: Request) -> bool:
        """Whether the request's key is enough for ANONYMOUS, FUNCTION or ADMIN."""
        if level == "ANONYMOUS" or self.is_master(request):
            return True
        return level == "FUNCTION" and _same(_key_of(request), self.function)

    def is_master(self, request: Request) -> bool:
        return _same(_key_of(request), self.master)


def _key_of(request: Request) -> str:
    """The header wins over the query."""
    by_query = {name.lower(): value for name, value in request.query.items()}
    return request.headers.get("x-functions-key") or by_query.get("code") or ""


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())

"""A folder of static files, sent so that a browser runs nothing but them and never mixes two deployments' files."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import azure.functions as func

from shared.api.replies import is_unchanged
from shared.errors import NotFound

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}

# Scripts and styles are files of this site alone, and no text can become HTML: a browser refuses innerHTML and its kin.
STRICT = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)


@dataclass(frozen=True)
class File:
    """One file as it is sent."""

    content: bytes
    content_type: str
    etag: str


@dataclass(frozen=True)
class Folder:
    """The files that lie directly in `path`, and those that `lent` names; `policy` is their Content-Security-Policy."""

    path: Path
    policy: str = STRICT
    lent: Callable[[], Iterable[Path]] = tuple

    def reply(self, req: func.HttpRequest, name: str) -> func.HttpResponse:
        """The file of that name: 200, or 304 for who has it. Raises NotFound."""
        file = self.files.get(name)
        if file is None:
            raise NotFound("There is no such file of this page.")
        headers = {
            "Content-Type": file.content_type,  # by itself the library would add a second charset
            "ETag": file.etag,
            "Cache-Control": "no-cache",  # kept, and asked about each time: a page of one deployment, whole
            "Content-Security-Policy": self.policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        if is_unchanged(req, file.etag):
            return func.HttpResponse(status_code=304, headers=headers)
        return func.HttpResponse(file.content, status_code=200, headers=headers)

    @functools.cached_property
    def files(self) -> dict[str, File]:
        """All of them, read at the first request: a name is looked up here and never becomes a path."""
        paths = (*self.path.iterdir(), *self.lent())
        return {path.name: _read(path) for path in paths if path.suffix in CONTENT_TYPES}


def to_page(address: str) -> func.HttpResponse:
    """Send a browser on to a page of this site."""
    return func.HttpResponse(status_code=302, headers={"Location": address, "Cache-Control": "no-cache"})


def _read(path: Path) -> File:
    content = path.read_bytes()
    return File(content, CONTENT_TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()}"')


DASHBOARD = Folder(Path(__file__).parent / "dashboard")

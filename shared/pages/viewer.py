"""GET /docs: the OpenAPI document to read and to try, drawn by Swagger UI from its package's own files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shared.pages.folder import Folder

VIEWER_FILES = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png")

# The viewer writes HTML, and its style sheet brings its icons along as data.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def viewer_files() -> Iterator[Path]:
    """Of all that the package holds, what the page loads."""
    from swagger_ui_bundle import swagger_ui_path  # not at every cold start

    for name in VIEWER_FILES:
        yield swagger_ui_path / name


DOCS = Folder(Path(__file__).parent / "docs", POLICY, viewer_files)

"""A stand-in for Application Insights' front door: takes what the exporters send, and keeps it."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from simulator.stack.ports import LOOPBACK


class Ingestion:
    """`items` are the envelopes in the order in which they came."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        items = self.items

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                sent = json.loads(body)
                items.extend(sent)
                answer = json.dumps({"itemsReceived": len(sent), "itemsAccepted": len(sent), "errors": []}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Door)
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def connection_string(self) -> str:
        address = f"http://{LOOPBACK}:{self._server.server_address[1]}/"
        return f"InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint={address}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def names(self, base_type: str) -> set[str]:
        """The names of the spans (RequestData, RemoteDependencyData) or metrics (MetricData) that have come."""
        data = [item["data"]["baseData"] for item in list(self.items) if item["data"]["baseType"] == base_type]
        return {each["name"] if "name" in each else each["metrics"][0]["name"] for each in data}

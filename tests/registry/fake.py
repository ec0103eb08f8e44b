"""A registry that does what a real one does on bad days: tokens, limits, redirects, delays."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from tests.images import Image, Packed, pack
from tests.registry.registry import Credentials

Challenge = Literal["none", "basic", "bearer", "bearer-without-scope"]
_TOKEN = "a-token-that-is-not-to-be-seen"


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    authorization: str | None


@dataclass
class FakeRegistry:
    """On loopback from `start` to `stop`. What it is told may be changed at any time.

    `token_needs`: what the token server wants by basic authentication. `too_many`: that many requests for manifests and
    blobs are refused with 429 and `retry_after`. `gate`: blobs wait until it is set.
    """

    challenge: Challenge = "none"
    credentials: Credentials | None = None
    too_many: int = 0
    retry_after: str | None = "0"
    is_redirecting: bool = False
    is_schema_1: bool = False
    gate: threading.Event = field(default_factory=threading.Event)
    asked: list[Asked] = field(default_factory=list)
    """All requests so far."""
    _images: dict[str, Packed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.gate.set()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def host(self) -> str:
        """What image names begin with."""
        return f"127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def put(self, image: Image | Packed, reference: str) -> str:
        """`repository:tag`. Its digest."""
        packed = pack(image) if isinstance(image, Image) else image
        self._images[reference] = packed
        return packed.digest

    def blob(self, digest: str) -> bytes | None:
        """Of any image."""
        every = (blob for packed in self._images.values() for blob in packed.blobs)
        return next((blob.content for blob in every if blob.digest == digest), None)

    def manifest(self, repository: str, name: str) -> tuple[str, bytes] | None:
        """Type and content, by tag or digest."""
        tagged = self._images.get(f"{repository}:{name}")
        if tagged is not None:
            return tagged.top.media_type, tagged.top.content
        mine = [packed for reference, packed in self._images.items() if reference.startswith(f"{repository}:")]
        every = (manifest for packed in mine for manifest in packed.manifests)
        return next(((one.media_type, one.content) for one in every if one.digest == name), None)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away while they are answered are no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(registry: FakeRegistry) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"registry": registry})


class _Handler(BaseHTTPRequestHandler):
    registry: FakeRegistry
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing: `asked` has it."""

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        url = urlsplit(self.path)
        authorization = self.headers.get("Authorization")
        query = parse_qs(url.query)
        self.registry.asked.append(Asked(self.command, url.path, query, authorization))
        match url.path.strip("/").split("/"):
            case ["token"]:
                self._serve_token(authorization)
            case ["elsewhere", digest]:
                self._serve_blob(digest)
            case ["v2", *_] if not self._is_let_in(authorization):
                self._challenge(url.path)
            case ["v2"]:
                self._answer(200, b"{}")
            case ["v2", *repository, kind, name]:
                self._serve_content("/".join(repository), kind, name)
            case _:
                self._answer(404, b"{}")

    def _serve_content(self, repository: str, kind: str, name: str) -> None:
        if self.registry.too_many > 0:
            self.registry.too_many -= 1
            headers = {} if self.registry.retry_after is None else {"Retry-After": self.registry.retry_after}
            self._fail(429, "TOOMANYREQUESTS", "You have reached your pull rate limit.", headers)
        elif kind == "blobs" and self.registry.is_redirecting:
            self._answer(307, b"", headers={"Location": f"http://{self.registry.host}/elsewhere/{name}"})
        elif kind == "blobs":
            self._serve_blob(name)
        elif kind == "manifests" and self.registry.is_schema_1:
            self._answer(200, b'{"schemaVersion": 1}', "application/vnd.docker.distribution.manifest.v1+prettyjws")
        elif kind == "manifests" and (found := self.registry.manifest(repository, name)) is not None:
            self._answer(200, found[1], found[0])
        else:
            self._fail(404, "MANIFEST_UNKNOWN", "manifest unknown")

    def _serve_blob(self, digest: str) -> None:
        self.registry.gate.wait(60)
        content = self.registry.blob(digest)
        if content is None:
            self._fail(404, "BLOB_UNKNOWN", "blob unknown to registry")
        else:
            self._answer(200, content, "application/octet-stream")

    def _serve_token(self, authorization: str | None) -> None:
        wanted = self.registry.credentials
        if wanted is not None and authorization != f"Basic {wanted.basic}":
            self._fail(401, "UNAUTHORIZED", "incorrect username or password")
        else:
            self._answer(200, json.dumps({"token": _TOKEN, "expires_in": 300}).encode())

    def _is_let_in(self, authorization: str | None) -> bool:
        match self.registry.challenge:
            case "none":
                return True
            case "basic":
                wanted = self.registry.credentials
                return wanted is not None and authorization == f"Basic {wanted.basic}"
            case _:
                return authorization == f"Bearer {_TOKEN}"

    def _challenge(self, path: str) -> None:
        if self.registry.challenge == "basic":
            value = 'Basic realm="tests"'
        else:
            value = f'Bearer realm="http://{self.registry.host}/token",service="tests"'
            repository = "/".join(path.strip("/").split("/")[1:-2])
            if self.registry.challenge == "bearer" and repository:
                value += f',scope="repository:{repository}:pull"'
        self._fail(401, "UNAUTHORIZED", "authentication required", {"WWW-Authenticate": value})

    def _fail(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._answer(status, json.dumps({"errors": [{"code": code, "message": message}]}).encode(), headers=headers)

    def _answer(
        self,
        status: int,
        content: bytes,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status, HTTPStatus(status).phrase)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

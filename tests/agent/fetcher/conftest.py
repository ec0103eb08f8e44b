"""A fetcher, a sandbox, and a web server that counts."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tfmesos.agent import AgentFlags
from tfmesos.agent.fetcher import Fetcher, FetchOrder
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

Order = Callable[..., FetchOrder]


class Web:
    """What it serves, and what it was asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.asked.append(self.path)
                web.headers.append(dict(self.headers))
                answer = web.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                else:
                    answer(self)
                self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def serve(self, path: str, body: bytes, status: int = 200, **headers: str) -> str:
        """The URL that this is served at."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            fields = {"Content_Length": str(len(body)), **headers}
            for name, value in fields.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self.answers[path] = answer
        return f"{self.url}{path}"


def stall(handler: BaseHTTPRequestHandler) -> None:
    """Says that something comes, and waits until the other side has gone."""
    handler.send_response(200)
    handler.send_header("Content-Length", "8")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.wfile.flush()
    handler.rfile.read(1)


def content(order: FetchOrder) -> dict[str, bytes]:
    """All files in the sandbox but the log."""
    root = Path(order.sandbox)
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "stderr"}


def log(order: FetchOrder) -> str:
    """What was said while fetching."""
    return Path(order.sandbox, "stderr").read_text()


@pytest.fixture
def web() -> Iterator[Web]:
    running = Web()
    thread = threading.Thread(target=running.server.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.server.shutdown()
    thread.join()
    running.server.server_close()


@pytest.fixture
def flags(tmp_path: Path) -> AgentFlags:
    return AgentFlags(
        master="none",
        work_dir=str(tmp_path / "work"),
        fetcher_cache_dir=str(tmp_path / "cache"),
        fetcher_cache_size=1_000_000,
        fetcher_stall_timeout=1.0,
    )


@pytest.fixture
async def fetcher(flags: AgentFlags) -> AsyncIterator[Fetcher]:
    supervisors = Supervisors()
    await supervisors.start()
    running = Fetcher(flags, supervisors, {})
    yield running
    await running.close()
    await supervisors.close()


@pytest.fixture
def order(tmp_path: Path) -> Order:
    """What a container asks for; each name has a sandbox of its own."""

    def make(*uris: mesos_pb2.CommandInfo.URI, name: str = "c") -> FetchOrder:
        sandbox = tmp_path / name
        sandbox.mkdir()
        return FetchOrder(container_id=name, uris=uris, sandbox=str(sandbox), user="", identity=None)

    return make

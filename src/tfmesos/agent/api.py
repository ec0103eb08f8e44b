"""The agent's HTTP endpoints, each with or without its process' name `/slave(1)` in front."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from aiohttp import web

from tfmesos.agent.executor_api.api import ExecutorApi
from tfmesos.agent.files import FileRefused, SandboxFiles
from tfmesos.agent.identity import AGENT_ID
from tfmesos.agent.operator_api import CallRefused, OperatorApi
from tfmesos.agent.state import AgentView, metrics, state, version_info
from tfmesos.flags import flag_texts
from tfmesos.transport import reply
from tfmesos.wire.json_codec import dumps, message_to_json

TEXT = "text/plain; charset=utf-8"
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")


class Api:
    """Serves requests that are no libprocess messages."""

    def __init__(self, view: AgentView, files: SandboxFiles, executors: ExecutorApi) -> None:
        self._view = view
        self._files = files
        self._operator = OperatorApi(view, files)
        self._endpoints: Mapping[str, Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]] = {
            "/api/v1": self._call,
            "/api/v1/executor": executors.handle,
            "/state": self._state,
            "/flags": self._flags,
            "/health": self._health,
            "/version": self._version,
            "/metrics/snapshot": self._metrics,
            "/files/browse": self._browse,
            "/files/read": self._read,
            "/files/download": self._download,
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        path = request.path.removeprefix(f"/{AGENT_ID}")
        while path:  # Mesos 1.11: the longest prefix of a path's components that has a handler
            endpoint = self._endpoints.get(path)
            if endpoint is not None:
                return await endpoint(request)
            path = path.rpartition("/")[0]
        return reply(404, "404 Not Found.", TEXT)

    async def _call(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST":
            text = f"405 Method Not Allowed. Expecting one of {{ 'POST' }}, but received '{request.method}'."
            return reply(405, text, TEXT, {"Allow": "POST"})
        headers = request.headers
        try:
            content_type, body = self._operator.answer(
                headers.get("Content-Type"), headers.get("Accept"), await request.read()
            )
        except CallRefused as refused:
            return reply(refused.status, refused.text, TEXT)
        return reply(200, body, content_type, request=request)

    async def _state(self, request: web.BaseRequest) -> web.StreamResponse:
        return _json(request, dumps(state(self._view)))

    async def _flags(self, request: web.BaseRequest) -> web.StreamResponse:
        return _json(request, dumps({"flags": flag_texts(self._view.flags)}))

    async def _health(self, request: web.BaseRequest) -> web.StreamResponse:
        return reply(200, content_type=TEXT)

    async def _version(self, request: web.BaseRequest) -> web.StreamResponse:
        return _json(request, message_to_json(version_info()))

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        return _json(request, dumps(metrics(self._view)))

    async def _browse(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            entries = self._files.list(_path(request))
        except FileRefused as refused:
            return reply(refused.status, refused.text, TEXT)
        shown: list[dict[str, Any]] = [
            {
                "path": entry.path,
                "nlink": entry.status.st_nlink,
                "size": entry.status.st_size,
                "mtime": float(int(entry.status.st_mtime)),
                "mode": entry.mode_text,
                "uid": entry.user,
                "gid": entry.group,
            }
            for entry in entries
        ]
        return _json(request, dumps(shown))

    async def _read(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            path, offset, length = _path(request), _number(request, "offset"), _number(request, "length")
            size, data = self._files.read(path, offset, length)
        except FileRefused as refused:
            return reply(refused.status, refused.text, TEXT)
        # Mesos writes the bytes as they are, whatever they mean: no client gets them whole but through READ_FILE.
        text = data.decode("utf-8", "surrogateescape")
        shown = json.dumps(
            {"data": text, "offset": size if offset is None else offset}, ensure_ascii=False, separators=(",", ":")
        )
        return _json(request, shown.encode("utf-8", "surrogateescape"))

    async def _download(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            real = self._files.resolve_file(_path(request))
        except FileRefused as refused:
            return reply(refused.status, refused.text, TEXT)
        return web.FileResponse(
            real, headers={"Content-Disposition": f"attachment; filename={quote(real.rpartition('/')[2])}"}
        )


def _json(request: web.BaseRequest, body: bytes) -> web.Response:
    """A JSON answer, wrapped in a call if the client asks for `jsonp`."""
    callback = request.query.get("jsonp")
    if callback is None:
        return reply(200, body, "application/json", request=request)
    return reply(200, callback.encode() + b"(" + body + b")", "text/javascript", request=request)


def _path(request: web.BaseRequest) -> str:
    path = request.query.get("path", "")
    if not path:
        raise FileRefused(400, "Expecting 'path=value' in query.\n")
    return path


def _number(request: web.BaseRequest, name: str) -> int | None:
    """The number of a query; None if it is absent or -1."""
    text = request.query.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise FileRefused(400, f"Failed to parse {name}: Failed to convert '{text}' to number.\n")
    number = int(text)
    if number < -1:
        raise FileRefused(400, f"Negative {name} provided: {number}.\n")
    return None if number == -1 else number

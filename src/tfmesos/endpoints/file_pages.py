"""/files/browse, /files/read, /files/download, /files/debug (Mesos 1.11)."""

import asyncio
import json
import mimetypes
import os
import re
from urllib.parse import quote

from aiohttp import web

from tfmesos.endpoints.files import FileRefused, VirtualFiles
from tfmesos.endpoints.pages import TEXT, json_page, query_of
from tfmesos.endpoints.routes import Handler
from tfmesos.transport import reply
from tfmesos.wire.json_codec import dumps

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_PIECE = 256 * 1024
_OFFSET_END = 2**63


class FilePages:
    """Serves the files of one program."""

    def __init__(self, files: VirtualFiles) -> None:
        self._files = files

    def table(self) -> dict[str, Handler]:
        """The paths and who answers."""
        return {
            "/files/browse": _told(self._browse),
            "/files/read": _told(self._read),
            "/files/download": _told(self._download),
            "/files/debug": _told(self._debug),
        }

    async def _debug(self, request: web.BaseRequest) -> web.StreamResponse:
        return await json_page(request, dumps(dict(sorted(self._files.attached().items()))))

    async def _browse(self, request: web.BaseRequest) -> web.StreamResponse:
        return await json_page(request, await asyncio.to_thread(self._listing, _path(request)))

    def _listing(self, path: str) -> bytes:
        """The JSON of a directory of any size."""
        return dumps([entry.to_json() for entry in self._files.list(path)])

    async def _read(self, request: web.BaseRequest) -> web.StreamResponse:
        path, offset, length = _path(request), _number(request, "offset"), _number(request, "length")
        size, data = self._files.read(path, offset, length)
        # Mesos writes the bytes as they are, whatever they mean: no client gets them whole but through READ_FILE.
        text = data.decode("utf-8", "surrogateescape")
        shown = {"data": text, "offset": size if offset is None else offset}
        body = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        return await json_page(request, body.encode("utf-8", "surrogateescape"))

    async def _download(self, request: web.BaseRequest) -> web.StreamResponse:
        """The whole file, piece by piece; what is written to it meanwhile is not part of it."""
        path = _path(request)
        file = self._files.open_file(path)
        try:
            size = os.fstat(file).st_size
            name = path.rstrip("/").rpartition("/")[2]
            response = web.StreamResponse(
                headers={
                    "Content-Type": mimetypes.guess_type(name)[0] or "application/octet-stream",
                    "Content-Disposition": f"attachment; filename={quote(name)}",
                    "Content-Length": str(size),
                }
            )
            await response.prepare(request)
            offset = size if request.method == "HEAD" else 0
            while offset < size:
                data = await asyncio.to_thread(os.pread, file, min(_PIECE, size - offset), offset)
                if not data:
                    raise ConnectionResetError(f"{path} was cut short while it was sent")
                await response.write(data)
                offset += len(data)
            return response
        finally:
            os.close(file)


def _told(handler: Handler) -> Handler:
    """What is refused becomes an answer."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handler(request)
        except FileRefused as refused:
            return reply(refused.status, refused.text, TEXT)

    return handle


def _path(request: web.BaseRequest) -> str:
    path = query_of(request).get("path", "")
    if not path:
        raise FileRefused(400, "Expecting 'path=value' in query.\n")
    return path


def _number(request: web.BaseRequest, name: str) -> int | None:
    """The number of a query; None if it is absent or -1."""
    text = query_of(request).get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text) or abs(int(text)) >= _OFFSET_END:
        raise FileRefused(400, f"Failed to parse {name}: Failed to convert '{text}' to number.\n")
    number = int(text)
    if number < -1:
        raise FileRefused(400, f"Negative {name} provided: {number}.\n")
    return None if number == -1 else number

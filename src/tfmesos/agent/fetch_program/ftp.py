"""Files from FTP servers. urllib's own takes a transfer that the server broke off for a whole file."""

from __future__ import annotations

import ftplib
import socket
import urllib.error
import urllib.request
from email.message import Message
from types import TracebackType
from urllib.parse import unquote, urlsplit


class FtpHandler(urllib.request.BaseHandler):
    """What an OpenerDirector asks for `ftp:`."""

    def ftp_open(self, request: urllib.request.Request) -> FtpAnswer:
        """RFC 1738: the path is relative to where the login leads, and starts with %2F where it is not."""
        split = urlsplit(request.full_url)
        *above, name = unquote(split.path.partition(";type=")[0]).removeprefix("/").split("/")
        server = ftplib.FTP(timeout=request.timeout)
        try:
            server.connect(split.hostname or "", split.port or ftplib.FTP_PORT)
            server.login(unquote(split.username or ""), unquote(split.password or ""))
            server.voidcmd("TYPE I")
            if above:
                server.cwd("/".join(above) or "/")
            return FtpAnswer(server, *server.ntransfercmd(f"RETR {name}"))
        except BaseException as error:
            server.close()
            if isinstance(error, OSError):
                raise urllib.error.URLError(error) from error
            raise


class FtpAnswer:
    """One file on its way, as an answer of http."""

    status = None

    def __init__(self, server: ftplib.FTP, connection: socket.socket, size: int | None) -> None:
        self.headers = Message()
        if size is not None:
            self.headers["Content-Length"] = str(size)
        self._server = server
        self._connection = connection

    def __enter__(self) -> FtpAnswer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._server.close()

    def read(self, size: int) -> bytes:
        """Nothing once all came. Raises ftplib.Error when the server then says that this was not all."""
        data = self._connection.recv(size)
        if not data:
            self._connection.close()
            self._server.voidresp()
        return data

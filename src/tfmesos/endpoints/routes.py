"""Which handler answers which path (Mesos 1.11: libprocess' routing to a delegate)."""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Routes:
    """A table of paths; the longest prefix of a request's components that is in it answers.

    `/x` and `/<process>/x` are the same; trailing slashes do not count. A path in `exact` has nothing below it.
    Only the name of the process may be percent-encoded (recorded: session scheduler-errors).
    """

    def __init__(self, process: str, table: Mapping[str, Handler], exact: Mapping[str, Handler]) -> None:
        self._process = process
        self._table = dict(table)
        self._exact = dict(exact)

    def find(self, request: web.BaseRequest) -> Handler | None:
        """Who answers; None: nobody (404)."""
        path = request.rel_url.raw_path.rstrip("/")
        first, slash, rest = path[1:].partition("/")
        if slash and unquote(first) == self._process:
            path = f"/{rest}"
        if path in self._exact:
            return self._exact[path]
        while path:
            handler = self._table.get(path)
            if handler is not None:
                return handler
            path = path.rpartition("/")[0]
        return None

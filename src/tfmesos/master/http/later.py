"""Endpoints of what this master does not have: they read as those of a Mesos where nobody uses it, and change nothing.

Reservations, volumes, quota, maintenance.
"""

from aiohttp import web

from tfmesos.endpoints import Handler, json_page, method_refused
from tfmesos.transport import reply


def later_table() -> dict[str, Handler]:
    """The paths and who answers."""
    return {
        "/quota": _page("quota", "GET", "POST", "DELETE"),
        "/maintenance/schedule": _page("maintenance", "GET", "POST"),
        "/maintenance/status": _page("maintenance", "GET"),
        **{path: _refusal("maintenance") for path in ("/machine/down", "/machine/up")},
        **{path: _refusal("reservations") for path in ("/reserve", "/unreserve")},
        **{path: _refusal("persistent volumes") for path in ("/create-volumes", "/destroy-volumes")},
    }


def _page(what: str, *methods: str) -> Handler:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return await json_page(request, b"{}")
        if request.method not in methods:
            return method_refused(request.method, *methods)
        return _refused(what)

    return handle


def _refusal(what: str) -> Handler:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST":
            return method_refused(request.method, "POST")
        return _refused(what)

    return handle


def _refused(what: str) -> web.Response:
    return reply(501, f"This master does not support {what} yet")

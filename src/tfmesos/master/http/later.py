"""Endpoints of what this master does not have: they read as those of a Mesos where nobody uses it, and change nothing.

Reservations, volumes, quota, maintenance, and weights other than those of --weights.
"""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from tfmesos.endpoints import Handler, json_page, method_refused
from tfmesos.master.flags import MasterFlags
from tfmesos.transport import reply
from tfmesos.wire.json_codec import dumps


def later_table(flags: MasterFlags) -> dict[str, Handler]:
    """The paths and who answers."""
    weights = [{"role": role, "weight": weight} for role, weight in flags.weights or ()]
    empty: dict[str, Any] = {}
    hint = "give the master --weights instead"
    return {
        "/weights": _page(lambda: weights, "weights", hint, "GET", "PUT"),
        "/quota": _page(lambda: empty, "quota", "", "GET", "POST", "DELETE"),
        "/maintenance/schedule": _page(lambda: empty, "maintenance", "", "GET", "POST"),
        "/maintenance/status": _page(lambda: empty, "maintenance", "", "GET"),
        **{path: _refusal("maintenance") for path in ("/machine/down", "/machine/up")},
        **{path: _refusal("reservations") for path in ("/reserve", "/unreserve")},
        **{path: _refusal("persistent volumes") for path in ("/create-volumes", "/destroy-volumes")},
    }


def _page(read: Callable[[], Any], what: str, hint: str, *methods: str) -> Handler:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return await json_page(request, dumps(read()))
        if request.method not in methods:
            return method_refused(request.method, *methods)
        return _refused(what, hint)

    return handle


def _refusal(what: str) -> Handler:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "POST":
            return method_refused(request.method, "POST")
        return _refused(what)

    return handle


def _refused(what: str, hint: str = "") -> web.Response:
    text = f"This master does not support {what} yet"
    return reply(501, f"{text}: {hint}" if hint else text)

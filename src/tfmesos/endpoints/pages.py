"""JSON pages and JSONP, queries and forms, what refuses a v1 request (Mesos 1.11)."""

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qs

from aiohttp import web
from google.protobuf.message import Message

from tfmesos.flags import FlagError, parse_duration
from tfmesos.transport import reply
from tfmesos.wire.errors import BadBody
from tfmesos.wire.media import JSON, PROTOBUF, read_call

M = TypeVar("M", bound=Message)

RECORDIO = "application/recordio"
TEXT = "text/plain; charset=utf-8"
_IN_THREAD_FROM = 256 * 1024
"""Bytes from which on a page is compressed beside the event loop."""
_MAX_FIELDS = 1000


async def json_page(request: web.BaseRequest, body: bytes) -> web.Response:
    """JSON, or a script that calls a function with it where `?jsonp=` names one."""
    function = query_of(request).get("jsonp")
    content_type = "application/json"
    if function is not None:
        body, content_type = function.encode(errors="replace") + b"(" + body + b")", "text/javascript"
    return await whole_reply(request, body, content_type)


async def whole_reply(request: web.BaseRequest, body: bytes, content_type: str) -> web.Response:
    """200 with a body that may be large: its compression does not make others wait."""
    if len(body) < _IN_THREAD_FROM:
        return reply(200, body, content_type, request=request)
    return await asyncio.to_thread(reply, 200, body, content_type, request=request)


def query_of(request: web.BaseRequest) -> dict[str, str]:
    """The query; of a name that comes twice the last value counts."""
    return fields_of(request.rel_url.raw_query_string)


def fields_of(text: str) -> dict[str, str]:
    """The fields of a query or a form; none if there are too many to be meant."""
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}


async def form_of(request: web.BaseRequest) -> dict[str, str]:
    """The fields of a body `name=value&…`, whatever its Content-Type (Mesos 1.11)."""
    return fields_of((await request.read()).decode(errors="replace"))


def duration_of(text: str) -> float:
    """Seconds of a duration in a query; ValueError with Mesos' text if it is none."""
    number = re.match(r"[0-9.]*", text, re.ASCII)
    digits = number[0] if number is not None else ""
    try:
        float(digits)
        return parse_duration(text)
    except FlagError as error:
        raise ValueError(str(error)) from error
    except ValueError:
        raise ValueError(f"Failed to convert '{digits}' to number") from None


def refused_head(request: web.BaseRequest, *also: str) -> web.Response | None:
    """Why the head of a v1 request is refused: its method or its Content-Type; None if it is fine.

    Allowed are JSON and protobuf, and what `also` names.
    """
    if request.method != "POST":
        return method_refused(request.method, "POST")
    content_type = request.headers.get("Content-Type")
    if content_type is None:
        return reply(400, "Expecting 'Content-Type' to be present")
    allowed = (JSON, PROTOBUF, *also)
    if content_type not in allowed:
        return reply(415, f"Expecting 'Content-Type' of {' or '.join(allowed)}")
    return None


async def received_call(
    request: web.BaseRequest, kind: type[M], name: str, fault_of: Callable[[M], str | None]
) -> M | web.Response:
    """The call in the body of a request whose head is fine, or the answer that refuses it.

    `name`: what Mesos calls such a call in its texts; `fault_of`: what a call lacks, None if nothing.
    """
    try:
        call = read_call(kind, request.headers["Content-Type"], await request.read())
    except BadBody as error:
        return reply(400, str(error))
    fault = fault_of(call)
    return reply(400, f"Failed to validate {name}: {fault}") if fault else call


def method_refused(method: str, *allowed: str) -> web.Response:
    """405 with Mesos' text."""
    names = ", ".join(f"'{name}'" for name in allowed)
    text = f"405 Method Not Allowed. Expecting one of {{ {names} }}, but received '{method}'."
    return reply(405, text, headers={"Allow": ", ".join(allowed)})

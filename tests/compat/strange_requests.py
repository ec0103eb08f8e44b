"""Requests that make little sense, out of recorded ones and out of nothing: heads, paths, queries, bodies, lengths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.wire import agent_pb2, executor_pb2, master_pb2, scheduler_pb2

T = TypeVar("T")
_TRANSCRIPTS = Path(__file__).parents[1] / "golden" / "transcripts"
_SIZES = (0, 1, 2, 5, 20, 200, 5000)
_METHODS = ("GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get", "X")
_TAILS = ("x", "..", "%2e%2e", "%00", "%ff", "é", "a" * 3000, "/", "x/y/z")
_QUERY_NAMES = (
    *("jsonp", "timeout", "path", "offset", "length", "limit", "order", "level", "duration"),
    *("framework_id", "task_id", "slave_id", "container_id"),
)
_QUERY_VALUES = (
    *("", "x", "-1", "0", "1", "9" * 20, "9" * 5000, "nan", "1secs", "5mins", "-5mins", "1e400secs", "asc"),
    *("%00", "%ff%fe", "é", "%C3%28", "/master/log", "/slave/log", "/frameworks/x/executors/y/runs/latest/../.."),
)
_CONTENT_TYPES = (
    *("application/json",) * 4,
    *("application/x-protobuf",) * 4,
    *("application/recordio", "text/plain", "application/json; charset=utf-8", ""),
)
_HEADERS = (
    *(f"Accept: {one}" for one in ("*/*", "text/html", ";;,,q=", "application/json;q=0", "a/b;q=x, */*;q=0.0")),
    *(f"Accept: application/{one}" for one in ("json", "x-protobuf", "recordio")),
    *(f"Accept-Encoding: {one}" for one in ("gzip", "gzip;q=0", "*", "identity", "br, gzip")),
    *(f"Message-{name}: {one}" for name in ("Accept", "Content-Type") for one in ("application/json", "x", "")),
    *(f"Mesos-Stream-Id: {one}" for one in ("x", "", "é")),
    *(f"Libprocess-From: {one}" for one in ("x@127.0.0.1:1", "@", "slave(1)@[::1]:5")),
    "Expect: 100-continue",
    "Upgrade: websocket",
    "X-Long: " + "x" * 20_000,
)
_LENGTHS = ("99999999999999999999", "-1", "x", "9000000000", "10")
_FIELDS = (
    *("agent_id", "framework_id", "container_id", "executor_id", "path", "offset", "length", "level", "duration"),
    *("timeout", "status", "max_grace_period", "resources", "command", "framework_info", "weight_infos", "tasks"),
)
_BODIES = (
    *(b"frameworkId=x", b"frameworkId=%ff&x", b"slaveId=x&resources=[]", b"[", b"{" * 2000, b"[" * 100_000),
    b'{"type":' + b"9" * 5000 + b"}",
    b'{"type":"GET_STATE","type":"SUBSCRIBE"}',
    b'{"type":"\xff\xfe"}',
)
_CALLS: Mapping[str, Sequence[Message]] = {
    "master": (master_pb2.Call(), scheduler_pb2.Call()),
    "agent": (agent_pb2.Call(), executor_pb2.Call()),
}
_PATHS = {
    "master": (
        *("/state", "/state-summary", "/slaves", "/frameworks", "/tasks", "/roles", "/weights", "/quota"),
        *("/maintenance/schedule", "/machine/up", "/reserve", "/create-volumes", "/teardown", "/redirect"),
        *("/api/v1", "/api/v1", "/api/v1/scheduler", "/api/v1/scheduler", "/master/state", "/master"),
    ),
    "agent": (
        *("/state", "/containers", "/monitor/statistics", "/containerizer/debug", "/slave(1)/state"),
        *("/api/v1", "/api/v1", "/api/v1/executor", "/api/v1/executor", "/slave%281%29/api/v1"),
    ),
}
_PATHS_OF_BOTH = (
    *("/flags", "/health", "/version", "/metrics", "/metrics/snapshot", "/files/browse", "/files/read"),
    *("/files/download", "/files/debug", "/logging/toggle", "/system/stats.json", "/", "/nothing"),
)


@dataclass(frozen=True, slots=True)
class StrangeRequest:
    """The bytes of one; an incomplete one is finished by closing our end."""

    data: bytes
    is_complete: bool = True

    def __str__(self) -> str:
        return repr(self.data[:600])


class StrangeRequests:
    """Makes requests for one program, `master` or `agent`."""

    def __init__(self, program: str, random: Random) -> None:
        self._random = random
        self._paths = (*_PATHS[program], *_PATHS_OF_BOTH)
        self._recorded = _recorded_bodies(program)
        kinds = (call.DESCRIPTOR.enum_types_by_name["Type"] for call in _CALLS[program])
        self._types = [name for kind in kinds for name in kind.values_by_name]

    def make(self) -> StrangeRequest:
        """The next one."""
        if self._chance(0.04):
            return StrangeRequest(self._junk(), is_complete=False)
        path = self._path()
        method = "POST" if "/api/v1" in path and self._chance(0.8) else self._one(_METHODS)
        body = b"" if method in ("GET", "HEAD", "get") and self._chance(0.9) else self._body()
        headers = ["Host: x", *(self._one(_HEADERS) for _ in range(self._random.randrange(3)))]
        if self._chance(0.9):
            headers.append(f"Content-Type: {self._one(_CONTENT_TYPES)}")
        is_complete = True
        if self._chance(0.05):
            headers.append(f"Content-Length: {self._one(_LENGTHS)}")
            is_complete = False
        elif self._chance(0.1):
            headers.append("Transfer-Encoding: chunked")
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
            if self._chance(0.3):
                body, is_complete = self._mutated(body), False
        else:
            headers.append(f"Content-Length: {len(body)}")
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{header}\r\n" for header in headers) + "\r\n"
        return StrangeRequest(head.encode() + body, is_complete)

    def _path(self) -> str:
        path = self._one(self._paths)
        if self._chance(0.15):
            path += f"/{self._one(_TAILS)}"
        if self._chance(0.5):
            names = [self._one(_QUERY_NAMES) for _ in range(self._random.randrange(4))]
            path += "?" + self._one("&;").join(f"{name}={self._one(_QUERY_VALUES)}" for name in names)
        return path

    def _body(self) -> bytes:
        match self._random.randrange(6):
            case 0:
                return self._junk()
            case 1:
                return self._one(self._recorded)
            case 2:
                return self._mutated(self._one(self._recorded))
            case 3:
                return json.dumps(self._value()).encode()
            case 4:
                return self._one(_BODIES)
            case _:
                kind = self._one(self._types)
                fields = {self._one(_FIELDS): self._value() for _ in range(self._random.randrange(4))}
                return json.dumps({"type": kind, kind.lower(): fields}).encode()

    def _value(self, depth: int = 0) -> object:
        kind = self._random.randrange(7)
        if kind == 0 and depth < 3:
            return [self._value(depth + 1) for _ in range(self._random.randrange(3))]
        if kind in (1, 2) and depth < 3:
            return {self._one(("value", "type", "nanoseconds", "seconds", "name")): self._value(depth + 1)}
        if kind == 3:
            return self._one((0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**40, 1e308, 0.5, True, False, None))
        return self._one(("", "x", "*", "/x", "\ud800", "\0", "é" * 50, "a" * 3000, "Infinity", "NaN", "1secs"))

    def _mutated(self, data: bytes) -> bytes:
        mutated = bytearray(data)
        for _ in range(self._random.randrange(1, 6)):
            place = self._random.randrange(len(mutated) + 1)
            match self._random.randrange(3):
                case 0:
                    del mutated[place : place + self._random.randrange(1, 20)]
                case 1:
                    mutated[place:place] = self._junk()[:8]
                case _:
                    mutated[place : place + 1] = mutated[place : place + self._random.randrange(60)]
        return bytes(mutated)

    def _junk(self) -> bytes:
        return self._random.randbytes(self._one(_SIZES))

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _one(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)


def _recorded_bodies(program: str) -> list[bytes]:
    found = []
    for sender in ("client", "scheduler", "executor", "mesos-execute"):
        for kind in ("json", "bin"):
            found += sorted(_TRANSCRIPTS.glob(f"*/*-{sender}-to-{program}-*.{kind}"))
    return [path.read_bytes() for path in found]

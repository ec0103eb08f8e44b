"""What is thrown at the daemons: recorded requests with damage, calls of random shape, bytes."""

from functools import cache

from hypothesis import strategies as st

from tests.wire.recorded import TRANSCRIPTS

TYPES = ("application/json", "application/x-protobuf", "application/recordio", "text/plain", "application/json;x=y", "")

PAGES = {
    "master": (
        *("/", "/health", "/version", "/state", "/state-summary", "/frameworks", "/slaves", "/tasks", "/roles"),
        *("/flags", "/metrics/snapshot", "/metrics", "/redirect", "/teardown", "/system/stats.json", "/weights"),
        *("/quota", "/maintenance/schedule", "/maintenance/status", "/machine/down", "/machine/up", "/reserve"),
        *("/files/browse", "/files/read", "/files/download", "/files/debug", "/logging/toggle", "/master/state"),
        *("/api/v1", "/api/v1/scheduler", "/master/api/v1", "/master/mesos.internal.RegisterSlaveMessage"),
    ),
    "agent": (
        *("/", "/health", "/version", "/state", "/containers", "/monitor/statistics", "/flags", "/metrics/snapshot"),
        *("/metrics", "/files/browse", "/files/read", "/files/download", "/files/debug", "/logging/toggle"),
        *("/system/stats.json", "/containerizer/debug", "/slave(1)/state", "/api/v1", "/api/v1/executor"),
        *("/slave(1)/api/v1", "/slave(1)/api/v1/executor", "/slave(1)/mesos.internal.RunTaskMessage"),
    ),
}

PARAMETERS = ("path", "offset", "length", "jsonp", "timeout", "limit", "order", "framework_id", "task_id", "slave_id")

_texts = st.text(max_size=8) | st.sampled_from(("\ud800", "\0", "TASK_RUNNING", "////"))
"""Half a surrogate pair is text in JSON, too."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)


@cache
def recorded_requests(receiver: str) -> tuple[bytes, ...]:
    """All recorded requests to a program, each kind once."""
    found: dict[str, bytes] = {}
    for path in sorted(TRANSCRIPTS.glob(f"*/*-to-{receiver}-*.http")):
        data = path.read_bytes()
        kind = path.name.partition("-")[2]
        if not data.startswith(b"HTTP/"):
            found.setdefault(f"{kind}{len(data) // 200}", data)
    return tuple(found.values())


@st.composite
def damaged(draw: st.DrawFn, receiver: str) -> tuple[bytes, bool]:
    """A recorded request of which some bytes are other ones, are missing, or came twice; whether it is a whole one."""
    data = draw(st.sampled_from(recorded_requests(receiver)))
    head, _, body = data.partition(b"\r\n\r\n")
    is_chunked = b"chunked" in head.lower()
    if is_chunked:
        body = body.partition(b"\r\n")[2].rpartition(b"\r\n0\r\n")[0]
    for _ in range(draw(st.integers(1, 3))):
        body = draw(_damage(body))
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"content-length", b"transfer-enc"))]
    length = draw(st.sampled_from([len(body)] * 6 + [0, len(body) + 7, 2**40, -1]))
    if draw(st.integers(0, 7)) == 0:
        framed = b"%x\r\n%b\r\n" % (draw(st.sampled_from([len(body), 2**60, 3])), body)
        return b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", framed]), False
    return b"\r\n".join([*lines, b"Content-Length: %d" % length, b"", body]), length <= len(body)


@st.composite
def _damage(draw: st.DrawFn, body: bytes) -> bytes:
    at = draw(st.integers(0, len(body)))
    piece = draw(
        st.binary(max_size=6) | st.sampled_from([b"\xff\xfe", b'"', b"{", b"null", b"-1", b"\xff" * 10, b"\0"])
    )
    match draw(st.sampled_from(("put", "replace", "cut", "twice"))):
        case "put":
            return body[:at] + piece + body[at:]
        case "replace":
            return body[:at] + piece + body[at + len(piece) :]
        case "cut":
            return body[:at]
        case _:
            return body + body[at:]

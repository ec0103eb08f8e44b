"""Whatever comes in at an entry point of master and agent: no 500, no hang, and the daemon goes on.

What a client does wrong is the client's fault: 4xx, or (bytes that are no HTTP) a closed connection.
"""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.material import PAGES, PARAMETERS, TYPES, damaged, json_values
from tests.fuzz.target import Target, request
from tfmesos.wire import agent_pb2, executor_pb2, master_pb2, scheduler_pb2

bounded = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    database=None,
)

CALLS: dict[str, tuple[tuple[str, Any], ...]] = {
    "master": (("/api/v1", master_pb2.Call), ("/api/v1/scheduler", scheduler_pb2.Call)),
    "agent": (("/api/v1", agent_pb2.Call), ("/api/v1/executor", executor_pb2.Call)),
}


def check(target: Target, data: bytes, *, is_whole: bool = True) -> None:
    status = target.exchange(data, is_whole=is_whole)
    assert status != 500, f"500 for {data!r}"


@st.composite
def page_requests(draw: st.DrawFn, receiver: str) -> bytes:
    path = draw(st.sampled_from(PAGES[receiver])) + draw(st.sampled_from(("", "/", "/x", "/%2e%2e/%00", "/é")))
    names = draw(st.lists(st.sampled_from(PARAMETERS), max_size=3))
    texts = st.sampled_from(("", "-1", "1e9", "9" * 30, "%ff%fe", "../../etc/passwd", "/", "%00", "5secs", "nan", "é"))
    query = "&".join(f"{name}={draw(texts)}" for name in names)
    method = draw(st.sampled_from(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW")))
    headers = {"Content_Type": draw(st.sampled_from(TYPES)), "Accept": draw(st.sampled_from((*TYPES, "*/*")))}
    return request(method, f"{path}?{query}", draw(st.binary(max_size=30)), **headers)


@st.composite
def calls(draw: st.DrawFn, receiver: str) -> bytes:
    """A JSON call of a known type, its fields with values of any type."""
    path, cls = draw(st.sampled_from(CALLS[receiver]))
    kind = draw(st.sampled_from(sorted(cls.Type.keys())))
    fields = [field.name for field in cls.DESCRIPTOR.fields]
    call = {
        "type": draw(st.sampled_from((kind, kind, kind, "\ud800", 7))),
        kind.lower(): draw(json_values),
        draw(st.sampled_from(fields)): draw(json_values),
    }
    inner = next((field for field in cls.DESCRIPTOR.fields if field.name == kind.lower()), None)
    if inner is not None and inner.message_type is not None and draw(st.booleans()):
        call[inner.name] = {field.name: draw(json_values) for field in inner.message_type.fields}
    body = json.dumps(call).encode("utf-8", "surrogatepass")
    return request("POST", path, body, Content_Type="application/json", Accept=draw(st.sampled_from(TYPES)))


@bounded
@given(data=st.binary(max_size=300))
def test_bytes_that_are_no_request(master: Target, agent: Target, data: bytes) -> None:
    check(master, data, is_whole=False)
    check(agent, data, is_whole=False)


@bounded
@given(data=page_requests("master"))
def test_pages_of_the_master(master: Target, data: bytes) -> None:
    check(master, data)


@bounded
@given(data=page_requests("agent"))
def test_pages_of_the_agent(agent: Target, data: bytes) -> None:
    check(agent, data)


@bounded
@given(data=calls("master"))
def test_calls_of_any_shape_to_the_master(master: Target, data: bytes) -> None:
    check(master, data)


@bounded
@given(data=calls("agent"))
def test_calls_of_any_shape_to_the_agent(agent: Target, data: bytes) -> None:
    check(agent, data)


@settings(bounded, max_examples=400)
@given(damage=damaged("master"))
def test_damaged_requests_and_messages_to_the_master(master: Target, damage: tuple[bytes, bool]) -> None:
    data, is_whole = damage
    check(master, data, is_whole=is_whole)


@settings(bounded, max_examples=400)
@given(damage=damaged("agent"))
def test_damaged_requests_and_messages_to_the_agent(agent: Target, damage: tuple[bytes, bool]) -> None:
    data, is_whole = damage
    check(agent, data, is_whole=is_whole)


@bounded
@given(pieces=st.lists(st.binary(max_size=20), max_size=4), lengths=st.lists(st.integers(-5, 2**65), max_size=4))
def test_streams_of_records_to_the_agent(agent: Target, pieces: list[bytes], lengths: list[int]) -> None:
    first = (
        b'{"type":"ATTACH_CONTAINER_INPUT",'
        b'"attach_container_input":{"type":"CONTAINER_ID","container_id":{"value":"x"}}}'
    )
    records = [b"%d\n%b" % (length, piece) for length, piece in zip(lengths, pieces, strict=False)]
    body = b"%d\n%b" % (len(first), first) + b"".join(records)
    headers = {"Content_Type": "application/recordio", "Message_Content_Type": "application/json"}
    check(agent, request("POST", "/api/v1", body, **headers))
    check(agent, request("POST", "/api/v1", body[:-3], **headers))
    check(agent, request("POST", "/api/v1", b"".join(records), **headers))


def test_a_length_that_nobody_can_send(master: Target, agent: Target) -> None:
    for target in (master, agent):
        for length in ("99999999999999999999", "-1", "1e3", "0x10", "٣"):
            check(
                target,
                request("POST", "/api/v1", b"{}", Content_Type="application/json", Content_Length=length),
                is_whole=False,
            )


def test_a_head_without_end(master: Target, agent: Target) -> None:
    for target in (master, agent):
        check(target, b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000, is_whole=False)

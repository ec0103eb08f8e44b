"""Answers that stock programs gave, read in any pieces; and answers that break off."""

from pathlib import Path
from random import Random

import pytest

from tfmesos.transport import ConnectionLost, ProtocolError, TcpAddress, TransportError
from tfmesos.transport._exchange import Exchange, headers_of

TRANSCRIPTS = Path(__file__).parents[1] / "golden" / "transcripts"
RECORDED = [path for path in sorted(TRANSCRIPTS.glob("*/*.http")) if path.read_bytes().startswith(b"HTTP/1.1 ")]
PEER = TcpAddress("127.0.0.1", 5050)


def exchange(method: str = "POST") -> Exchange:
    made = Exchange(PEER, lambda wanted: None)
    made.encode(method, "/", {}, b"")
    return made


async def read_in_pieces(data: bytes, size: int) -> tuple[int, dict[str, str], bytes, bool]:
    """Status, headers, body, and whether the answer is complete."""
    answer = exchange()
    for at in range(0, len(data), size):
        if (rest := answer.feed(data[at : at + size])) is not None:
            assert rest == b""
    if not answer.is_done:
        answer.fail(ConnectionLost(PEER))
    head = await answer.head
    body = b""
    try:
        while chunk := await answer.next_chunk():
            body += chunk
    except ConnectionLost:
        pass
    return head.status_code, dict(headers_of(head)), body, answer.is_done


async def test_recorded_answers_in_any_pieces() -> None:
    assert len(RECORDED) > 100
    for path in RECORDED:
        data = path.read_bytes()
        whole = await read_in_pieces(data, len(data))
        pieces = max(1, len(data) // 97)
        assert await read_in_pieces(data, pieces) == whole, path.name
        records = path.with_suffix(".recordio")
        if records.exists():
            assert whole[2] == records.read_bytes(), path.name
        else:
            assert whole[3] or not whole[2], path.name  # the body of the web UI's page was not recorded


async def test_pipelined_answers_leave_what_follows_for_the_next() -> None:
    random = Random(7)
    recorded = [path.read_bytes() for path in RECORDED if not path.with_suffix(".recordio").exists()]
    for _ in range(50):
        first, second = random.choice(recorded), random.choice(recorded)
        answer = exchange()
        assert answer.feed(first + second) == second


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Le", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", ConnectionLost),
        (b"no http at all\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\n" + b"A: " + b"x" * 100_000, ProtocolError),
    ],
)
async def test_answers_that_break_off(data: bytes, error: type[TransportError]) -> None:
    answer = exchange()
    with pytest.raises(error):
        list(map(answer.feed, [data, b""] if data else [b""]))


async def test_an_answer_that_ends_with_the_connection() -> None:
    answer = exchange()
    assert answer.feed(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it") is None
    assert answer.feed(b"") is not None
    assert await answer.read(100) == b"all of it"
    assert answer.must_close


@pytest.mark.parametrize("headers", [{"X": "a\r\nEvil: b"}, {"X y": "a"}, {"X": "a\0"}])
async def test_requests_that_http_cannot_carry_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ProtocolError):
        Exchange(PEER, lambda wanted: None).encode("GET", "/", headers, b"")
    with pytest.raises(ProtocolError):
        Exchange(PEER, lambda wanted: None).encode("GET", "/a b", {}, b"")

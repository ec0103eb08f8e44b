"""Libprocess messages as bytes: what a stock master and agent sent, in any pieces, and what we send."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmesos.transport import NO_PID, Backoff, LibprocessMessage, Pid
from tfmesos.transport._parser import HEAD_LIMIT, MessageError, MessageParser
from tfmesos.transport.message import encode_message

TRANSCRIPTS = Path(__file__).parents[1] / "golden" / "transcripts"
RECORDED = sorted(
    path for path in TRANSCRIPTS.glob("*/*Message*.http") if b"\r\nLibprocess-From: " in path.read_bytes()[:4096]
)
LIMIT = 64 * 1024 * 1024


def fed(data: bytes, cuts: list[int]) -> tuple[list[LibprocessMessage], bytes | None]:
    parser = MessageParser(LIMIT)
    messages = []
    at = 0
    for cut in [*sorted(cuts), len(data)]:
        if parser.foreign is None:
            messages += parser.feed(data[at:cut])
        at = cut
    return messages, parser.foreign


def test_recorded_messages_are_read_and_written_byte_for_byte() -> None:
    assert len(RECORDED) > 100
    for path in RECORDED:
        data = path.read_bytes()
        (message,), foreign = fed(data, [])
        assert foreign is None
        assert message.name.startswith("mesos.internal."), path.name
        assert message.sender, path.name
        body = path.with_suffix(".bin")
        assert message.body == (body.read_bytes() if body.exists() else b""), path.name
        assert encode_message(message.to_id, message.sender, message.name, message.body) == data, path.name


@given(st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_recorded_messages_in_any_pieces(random: Random) -> None:
    paths = random.sample(RECORDED, 5)
    data = b"".join(path.read_bytes() for path in paths)
    cuts = [random.randrange(len(data)) for _ in range(random.choice([1, 3, 50]))]
    assert fed(data, cuts) == fed(data, [])
    assert fed(data, list(range(len(data)))) == fed(data, [])
    assert len(fed(data, cuts)[0]) == 5


@given(
    st.text("abcxyz()-_1239", min_size=1),
    st.text("abc.XYZ", min_size=1),
    st.binary(max_size=300),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_what_we_write_we_read(to_id: str, name: str, body: bytes, cuts: list[int]) -> None:
    sender = Pid("slave(1)", "127.0.0.1", 5051)
    data = encode_message(to_id, sender, name, body)
    messages, foreign = fed(data, [min(cut, len(data)) for cut in cuts])
    assert messages == [LibprocessMessage(to_id, name, sender, body)]
    assert foreign is None


@given(st.binary(max_size=200), st.lists(st.integers(0, 199), max_size=5))
def test_other_bytes_are_handed_on_whole(junk: bytes, cuts: list[int]) -> None:
    other = b"GET /state HTTP/1.1\r\n" + junk
    data = encode_message("a", Pid("b", "c", 1), "n", b"first") + other
    parser = MessageParser(LIMIT)
    messages, handed_on, at = [], b"", 0
    for cut in [*sorted(cuts), len(data)]:
        if parser.foreign is None:
            messages += parser.feed(data[at:cut])
            handed_on = parser.foreign or b""
        else:
            handed_on += data[at:cut]
        at = cut
    assert [message.body for message in messages] == [b"first"]
    assert handed_on == other


HEAD = b"POST /master/n HTTP/1.1\r\nLibprocess-From: a@1.2.3.4:5\r\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HEAD + b"\r\n", LibprocessMessage("master", "n", Pid("a", "1.2.3.4", 5))),
        (HEAD + b"Content-Length: 3\r\n\r\nabc", LibprocessMessage("master", "n", Pid("a", "1.2.3.4", 5), b"abc")),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n01\r\nc\r\n0\r\n\r\n",
            LibprocessMessage("master", "n", Pid("a", "1.2.3.4", 5), b"abc"),
        ),
        (
            b"POST /slave%281%29/n HTTP/1.1\r\nuser-agent: libprocess/a@1.2.3.4:5\r\n\r\n",
            LibprocessMessage("slave(1)", "n", Pid("a", "1.2.3.4", 5)),
        ),
        (
            b"POST /a/n HTTP/1.1\r\nLibprocess-From: @0.0.0.0:0\r\nUser-Agent: libprocess/x@y:1\r\n\r\n",
            LibprocessMessage("a", "n", NO_PID),
        ),
    ],
)
def test_other_senders_forms(data: bytes, message: LibprocessMessage) -> None:
    assert fed(data, list(range(len(data)))) == ([message], None)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0",
        b"POST /master/n HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /a/b/c HTTP/1.1\r\nLibprocess-From: a@1.2.3.4:5\r\n\r\n",
        b"POST /a HTTP/1.1\r\nLibprocess-From: a@1.2.3.4:5\r\n\r\n",
        b"POST /a/n HTTP/1.0\r\nLibprocess-From: a@1.2.3.4:5\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
        HEAD + b"no colon\r\n\r\n",
        b"POST /" + b"x" * (HEAD_LIMIT + 1),
    ],
)
def test_what_only_a_full_http_server_should_judge_is_handed_on(data: bytes) -> None:
    assert fed(data, []) == ([], data)


@pytest.mark.parametrize(
    "tail",
    [
        b"Content-Length: 99999999999\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 2000,
        b"Transfer-Encoding: chunked\r\n\r\n" + b"2000000\r\n" + b"x" * 0x2000000 + b"\r\n2000001\r\n",
    ],
)
def test_broken_or_endless_bodies_are_refused(tail: bytes) -> None:
    with pytest.raises(MessageError):
        MessageParser(LIMIT).feed(HEAD + tail)


@pytest.mark.parametrize(
    "text", ["", "@0.0.0.0:0", "a", "a@b", "a@b:", "a@b:x", "a@b:0", "a@b:65536", "@b:1", "a@b@c:1"]
)
def test_what_names_no_process(text: str) -> None:
    assert Pid.parse(text) is NO_PID
    assert not Pid.parse(text)


def test_a_pid_reads_what_it_writes() -> None:
    pid = Pid("slave(1)", "127.0.0.1", 5051)
    assert Pid.parse(str(pid)) == pid
    assert pid
    assert str(NO_PID) == "@0.0.0.0:0"


def test_delays_double_to_a_cap_with_jitter() -> None:
    backoff = Backoff(1, 5, Random(0))
    for bound in (1, 2, 4, 5, 5):
        assert bound / 2 <= backoff.next() <= bound
    backoff.reset()
    assert backoff.next() <= 1

"""What goes between owner and supervisor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.supervision import ProcessSpec, Starter, SupervisionError
from tfmesos.supervision._frames import FrameReader, Kind, Program, decode_ended, encode_ended, encode_frame
from tfmesos.supervision._translation import to_program

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1)
NUMBERS = st.integers(min_value=0, max_value=2**32 - 2)


@given(st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=50))), st.data())
def test_frames_survive_any_cut(frames: list[tuple[Kind, bytes]], data: st.DataObject) -> None:
    stream = b"".join(encode_frame(kind, body) for kind, body in frames)
    reader = FrameReader()
    read = []
    while stream:
        size = data.draw(st.integers(min_value=1, max_value=len(stream)))
        read += reader.feed(stream[:size])
        stream = stream[size:]
    assert read == frames


def test_an_overlong_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        FrameReader().feed(b"\xff\xff\xff\xff\x01")


@given(
    argv=st.lists(TEXTS, min_size=1).map(tuple),
    environment=st.dictionaries(NAMES, TEXTS),
    directory=TEXTS,
    uid=st.none() | NUMBERS,
    groups=st.lists(NUMBERS).map(tuple),
    cgroups=st.lists(TEXTS).map(tuple),
    starter=st.none() | st.builds(Starter, argv=st.lists(TEXTS).map(tuple), pid_file=TEXTS, log_file=TEXTS),
)
def test_a_program_arrives_as_it_was_sent(
    argv: tuple[str, ...],
    environment: dict[str, str],
    directory: str,
    uid: int | None,
    groups: tuple[int, ...],
    cgroups: tuple[str, ...],
    starter: Starter | None,
) -> None:
    spec = ProcessSpec(
        id="1",
        argv=argv,
        environment=environment,
        directory=directory,
        stdout="o",
        stderr="e",
        uid=uid,
        groups=groups,
        cgroups=cgroups,
        cgroup_directories=cgroups[:1],
        starter=starter,
        epilogue=cgroups[1:],
    )
    sent = to_program(spec, has_terminal=False)
    assert vars(Program.decode(sent.encode())) == vars(sent)
    assert sent.argv == [argument.encode() for argument in argv]


@given(st.none() | st.integers(min_value=0, max_value=65535), st.booleans(), st.none() | st.text(min_size=1))
def test_an_end_arrives_as_it_was_sent(status: int | None, killed: bool, message: str | None) -> None:
    if message is None or message.encode("utf-8", "surrogateescape"):
        assert decode_ended(encode_ended(status, killed, message)) == (status, killed, message)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"argv": ("a", "b\0c")}, "argument 1: must not contain a NUL"),
        ({"environment": {"A=B": "c"}}, "environment name 'A=B'"),
        ({"environment": {"A": "x\0"}}, "environment variable 'A'"),
        ({"directory": "/\0"}, "directory"),
        ({"argv": ("a", "\ud800")}, "argument 1: cannot be encoded"),
    ],
)
def test_what_no_program_can_get_is_refused(change: dict[str, object], text: str) -> None:
    fields: dict[str, object] = {"argv": ("true",), "environment": {}, "directory": "/", **change}
    spec = ProcessSpec(id="1", stdout="o", stderr="e", **fields)  # type: ignore[arg-type]
    with pytest.raises(SupervisionError) as failure:
        to_program(spec, has_terminal=False)
    assert text in str(failure.value)

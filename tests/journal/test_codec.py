"""Dataclasses as records."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.journal import BINARY, FLAG, SECONDS, TEXT, RecordCodec, message
from tfmesos.wire import mesos_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A record with every kind of field."""

    name: str | None
    data: bytes
    at_s: float
    is_new: bool
    task_id: mesos_pb2.TaskID


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A record that got a field later."""

    name: str
    why: str | None = None


CODEC = RecordCodec[Seen | Gone](
    {1: (Seen, (TEXT, BINARY, SECONDS, FLAG, message(mesos_pb2.TaskID))), 7: (Gone, (TEXT, TEXT))}
)


@given(
    st.builds(
        Seen,
        name=st.none() | st.text(),
        data=st.binary(),
        at_s=st.floats(allow_nan=False),
        is_new=st.booleans(),
        task_id=st.builds(mesos_pb2.TaskID, value=st.text()),
    )
)
def test_a_record_is_read_as_it_was_written(record: Seen) -> None:
    assert CODEC.decode(CODEC.encode(record)) == record


def test_a_record_from_before_a_field_existed_has_the_default() -> None:
    written = RecordCodec[mesos_pb2.TaskID | Gone]({7: (Gone, (TEXT, TEXT))}).encode(Gone(name="a"))

    assert CODEC.decode(written[:-4]) == Gone(name="a")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "unknown kind"),
        (b"\x05", "unknown kind"),
        (b"\x07", "a Gone that cannot be read"),
        (b"\x07\x00\x00\x00\x09abc", "a Gone that cannot be read: name is cut off"),
        (b"\x07\x00\x00\x00\x01\xff", "a Gone that cannot be read"),
    ],
)
def test_what_is_no_record_is_told(data: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        CODEC.decode(data)

"""Received bytes: refused if they are no message, mended where text is not UTF-8."""

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.wire import DecodeError, decode, internal_pb2, mesos_pb2, scheduler_pb2

MARK = b"XYZW"
BAD = b"\xff\xfe\x80W"
MENDED = "\ufffd\ufffd\ufffdW"


def spoiled(message: Message) -> bytes:
    """The bytes of a message, every XYZW in them replaced by text that is not UTF-8."""
    return message.SerializePartialToString().replace(MARK, BAD)


def test_a_text_that_is_not_utf8_is_mended() -> None:
    status = mesos_pb2.TaskStatus(message="a XYZW", uuid=BAD, task_id=mesos_pb2.TaskID(value="XYZW"))
    status.labels.labels.add(key="k", value="XYZW")

    read = decode(mesos_pb2.TaskStatus, spoiled(status))

    assert (read.message, read.task_id.value) == (f"a {MENDED}", MENDED)
    assert read.labels.labels[0].value == MENDED
    assert read.uuid == BAD


def test_texts_are_mended_however_many_messages_came_before() -> None:
    data = spoiled(mesos_pb2.TaskStatus(message="XYZW", uuid=BAD))
    assert {decode(mesos_pb2.TaskStatus, data).message for _ in range(300)} == {MENDED}


def test_lists_of_texts_are_mended() -> None:
    read = decode(mesos_pb2.CommandInfo, spoiled(mesos_pb2.CommandInfo(arguments=["a", "XYZW"])))
    assert list(read.arguments) == ["a", MENDED]


def test_a_map_loses_entries_whose_key_is_no_text_and_keeps_the_others_mended() -> None:
    task = mesos_pb2.TaskInfo()
    task.limits["cpus"].value = 1.0
    task.limits["XYZW"].value = 2.0
    assert dict(decode(mesos_pb2.TaskInfo, spoiled(task)).limits) == {"cpus": mesos_pb2.Value.Scalar(value=1.0)}

    context = mesos_pb2.Volume.Source.CSIVolume.StaticProvisioning(volume_context={"a": "XYZW", "XYZW": "b"})
    assert dict(decode(type(context), spoiled(context)).volume_context) == {"a": MENDED}


@pytest.mark.parametrize("padding", [0, 10_000])
def test_long_messages_are_mended_too(padding: int) -> None:
    event = scheduler_pb2.Event()
    event.offers.offers.add(hostname="XYZW").attributes.add(name="a" * padding)
    event.offers.offers.add(hostname="ä" * 4096)

    read = decode(scheduler_pb2.Event, spoiled(event))

    assert [offer.hostname for offer in read.offers.offers] == [MENDED, "ä" * 4096]


def test_types_that_share_parts_are_all_checked_when_long() -> None:
    task = mesos_pb2.TaskInfo(name="XYZW", data=b"\xff" * 5000)
    assert decode(mesos_pb2.TaskInfo, spoiled(task)).name == MENDED
    run = internal_pb2.RunTaskMessage(task=task)
    assert decode(internal_pb2.RunTaskMessage, spoiled(run)).task.name == MENDED


@pytest.mark.parametrize("data", [b"\x08", b"\xff\xff", b"\x0a\xff\xff\xff\x7f", b"\x0a\x05abc"])
def test_bytes_that_are_no_message_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^Failed to parse TaskInfo"):
        decode(mesos_pb2.TaskInfo, data)


def test_absent_required_fields_are_no_error_of_decoding() -> None:
    assert decode(mesos_pb2.TaskInfo, b"") == mesos_pb2.TaskInfo()


@given(st.binary(max_size=200))
def test_no_bytes_make_text_that_is_not_text(data: bytes) -> None:
    try:
        status = decode(mesos_pb2.TaskStatus, data)
    except DecodeError:
        return
    assert isinstance(status.message, str)
    assert isinstance(status.task_id.value, str)

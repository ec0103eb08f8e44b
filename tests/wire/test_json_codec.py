"""Mesos' JSON: what it writes that protobuf's does not, what it forgives, and its texts."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.wire import JsonError, JsonSyntaxError, decode, mesos_pb2, scheduler_pb2
from tfmesos.wire.json_codec import dumps, message_from_json, message_to_dict, message_to_json, missing_fields


def status(**values: Any) -> mesos_pb2.TaskStatus:
    required = {"task_id": {"value": "t"}, "state": "TASK_RUNNING"}
    return message_from_json(mesos_pb2.TaskStatus, json.dumps({**required, **values}))


def test_explicit_defaults_appear_and_deprecated_ones_do_not() -> None:
    assert message_to_dict(mesos_pb2.CommandInfo(value="x")) == {"shell": True, "value": "x"}
    framework = mesos_pb2.FrameworkInfo(user="u", name="n")
    assert message_to_dict(framework) == {"user": "u", "name": "n", "failover_timeout": 0.0, "checkpoint": False}


def test_fields_come_in_the_order_of_their_declaration() -> None:
    command = mesos_pb2.CommandInfo(user="u", value="v", uris=[mesos_pb2.CommandInfo.URI(value="w")])
    written = message_to_json(command)
    assert written == b'{"uris":[{"value":"w","extract":true}],"shell":true,"value":"v","user":"u"}'


def test_numbers_bytes_enums_and_maps_are_written_as_mesos_does() -> None:
    task = mesos_pb2.TaskInfo(data=b"\x00\xff")
    task.limits["mem"].value = math.inf
    assert message_to_json(task) == b'{"data":"AP8=","limits":{"mem":{"value":Infinity}}}'
    assert dumps({"a": 1.0, "b": 1, "c": 0.1, "d": -math.inf}) == b'{"a":1.0,"b":1,"c":0.1,"d":-Infinity}'
    assert message_to_json(mesos_pb2.DurationInfo(nanoseconds=2**62)) == b'{"nanoseconds":4611686018427387904}'
    assert message_to_dict(status(reason="REASON_GC_ERROR"))["reason"] == "REASON_GC_ERROR"


def test_text_is_written_as_utf8_and_half_a_surrogate_pair_does_not_crash() -> None:
    assert dumps("ä/\u1234") == '"ä/\u1234"'.encode()
    assert dumps("\udc80") == b'"?"'


def test_unknown_keys_and_nulls_are_ignored() -> None:
    assert status(no_such_field=1, message=None, labels={"labels": [None]}) == status(labels={})


@pytest.mark.parametrize(
    ("value", "healthy", "timestamp"), [("true", True, "1.5"), ("false", False, 1.5), (True, True, "15e-1")]
)
def test_numbers_and_booleans_may_be_strings(value: Any, healthy: bool, timestamp: Any) -> None:
    read = status(healthy=value, timestamp=timestamp)
    assert (read.healthy, read.timestamp) == (healthy, 1.5)


def test_infinities_are_read_bare_and_as_strings() -> None:
    assert status(timestamp="Infinity").timestamp == math.inf
    assert status(timestamp="-Infinity").timestamp == -math.inf
    assert status(timestamp=math.inf).timestamp == math.inf


def test_one_value_stands_for_a_list_of_one() -> None:
    read = message_from_json(mesos_pb2.CommandInfo, '{"arguments":"a","uris":{"value":"u"}}')
    assert list(read.arguments) == ["a"]
    assert [uri.value for uri in read.uris] == ["u"]


def test_an_unknown_name_leaves_an_optional_enum_unset_and_is_dropped_from_a_list() -> None:
    assert not message_from_json(scheduler_pb2.Call, '{"type":"NO_SUCH"}').HasField("type")
    read = message_from_json(mesos_pb2.CapabilityInfo, '{"capabilities":["NO_SUCH","KILL"]}')
    assert list(read.capabilities) == [mesos_pb2.CapabilityInfo.KILL]


@pytest.mark.parametrize(
    ("cls", "text", "error"),
    [
        (scheduler_pb2.Call, '{"type":1}', "Not expecting a JSON number for field 'type'"),
        (scheduler_pb2.Call, '{"type":true}', "Not expecting a JSON boolean for field 'type'"),
        (scheduler_pb2.Call, '{"type":["KILL"]}', "Not expecting a JSON array for field 'type'"),
        (scheduler_pb2.Call, '{"type":{}}', "Not expecting a JSON object for field 'type'"),
        (scheduler_pb2.Call, '{"kill":"x"}', "Not expecting a JSON string for field 'kill'"),
        (scheduler_pb2.Call, '{"kill":[]}', "Not expecting a JSON array for field 'kill'"),
        (scheduler_pb2.Call, "[]", "Expecting a JSON object"),
        (mesos_pb2.TaskID, '{"value":"\\ud800"}', "Not expecting text that is not UTF-8 for field 'value'"),
        (mesos_pb2.Resource, '{"name":"cpus","type":"\\ud800"}', "Failed to find enum for '\ud800'"),
        (
            mesos_pb2.FrameworkInfo,
            '{"user":"u","name":"n","offer_filters":{"\\ud800":{}}}',
            "Not expecting text that is not UTF-8 for field 'offer_filters'",
        ),
        (mesos_pb2.TaskID, "{}", "Missing required fields: value"),
        (mesos_pb2.Environment, '{"variables":[{}]}', "Missing required fields: variables[0].name"),
        (mesos_pb2.Value, '{"type":"NO_SUCH"}', "Failed to find enum for 'NO_SUCH'"),
        (mesos_pb2.DurationInfo, '{"nanoseconds":"x"}', "Failed to parse 'x' as a JSON number for field 'nanoseconds'"),
        (mesos_pb2.DurationInfo, '{"nanoseconds":false}', "Not expecting a JSON boolean for field 'nanoseconds'"),
        (mesos_pb2.Image, '{"cached":"1"}', "Failed to parse '1' as a JSON boolean for field 'cached'"),
        (mesos_pb2.Image, '{"cached":1}', "Not expecting a JSON number for field 'cached'"),
        (
            scheduler_pb2.Call.Message,
            '{"data":"A*=="}',
            "Failed to base64 decode bytes field 'data': Invalid character '*'",
        ),
        (scheduler_pb2.Call.Message, '{"data":"A"}', "Failed to base64 decode bytes field 'data': Missing characters"),
    ],
)
def test_what_does_not_fit_is_named(cls: Any, text: str, error: str) -> None:
    with pytest.raises(JsonError) as caught:
        message_from_json(cls, text)
    assert str(caught.value) == error


def nested(levels: int) -> str:
    return '{"value":"x","parent":' * (levels - 1) + '{"value":"y"}' + "}" * (levels - 1)


def test_a_message_nested_deeper_than_protobuf_allows_is_refused() -> None:
    message = message_from_json(mesos_pb2.ContainerID, nested(100))
    assert decode(mesos_pb2.ContainerID, message.SerializeToString()) == message
    with pytest.raises(JsonError, match="of at most 100 levels"):
        message_from_json(mesos_pb2.ContainerID, nested(101))
    with pytest.raises(JsonError):
        message_from_json(mesos_pb2.ContainerID, nested(900))


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"\xff\xfe{}", b"[" * 100_000, b'{"a":1' + b"0" * 5_000 + b"}"])
def test_bytes_that_are_no_json_are_a_syntax_error(body: bytes) -> None:
    with pytest.raises(JsonSyntaxError, match=r"^syntax error"):
        message_from_json(scheduler_pb2.Call, body)


@pytest.mark.parametrize(
    ("number", "read"), [(1.9, 1), (-1.9, -1), (2**63, -(2**63)), (2**64 + 5, 5), ("7", 7), (1e400, 0)]
)
def test_integers_are_truncated_like_a_c_cast(number: Any, read: int) -> None:
    assert message_from_json(mesos_pb2.DurationInfo, json.dumps({"nanoseconds": number})).nanoseconds == read


def test_missing_fields_of_a_complete_message_are_none() -> None:
    assert missing_fields(mesos_pb2.TaskID(value="x")) is None
    call = scheduler_pb2.Call(kill=scheduler_pb2.Call.Kill(agent_id=mesos_pb2.AgentID()))
    assert missing_fields(call) == "Missing required fields: kill.task_id, kill.agent_id.value"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(
    st.builds(
        mesos_pb2.TaskStatus,
        task_id=st.builds(mesos_pb2.TaskID, value=texts),
        state=st.sampled_from(mesos_pb2.TaskState.values()),
        message=texts,
        data=st.binary(max_size=5),
        timestamp=st.floats(allow_nan=False),
        healthy=st.booleans(),
        labels=st.builds(mesos_pb2.Labels, labels=st.lists(st.builds(mesos_pb2.Label, key=texts, value=texts))),
    )
)
def test_a_message_comes_back_from_its_json(message: mesos_pb2.TaskStatus) -> None:
    assert message_from_json(mesos_pb2.TaskStatus, message_to_json(message)) == message

"""Names of messages and of the numbers in them."""

from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.names import message_class, message_name
from tfmesos.wire.text import TERMINAL_STATES, reason_name, source_name, state_name


def test_a_message_is_found_by_its_libprocess_name() -> None:
    assert message_name(internal_pb2.PingSlaveMessage) == "mesos.internal.PingSlaveMessage"
    assert message_name(internal_pb2.PingSlaveMessage()) == "mesos.internal.PingSlaveMessage"
    assert message_class("mesos.internal.PingSlaveMessage") is internal_pb2.PingSlaveMessage
    assert message_name(scheduler_pb2.Call) == "mesos.scheduler.Call"
    assert message_class("mesos.scheduler.Call") is scheduler_pb2.Call


def test_other_names_are_no_message() -> None:
    for name in ("", "x", "mesos.internal.NoSuchMessage", "mesos.internal.DESCRIPTOR", "mesos.internal.", "os.path"):
        assert message_class(name) is None


def test_numbers_have_their_names_and_unknown_ones_stay_numbers() -> None:
    assert state_name(mesos_pb2.TASK_STAGING) == "TASK_STAGING"
    assert reason_name(mesos_pb2.TaskStatus.REASON_AGENT_REMOVED) == "REASON_AGENT_REMOVED"
    assert source_name(mesos_pb2.TaskStatus.SOURCE_EXECUTOR) == "SOURCE_EXECUTOR"
    assert (state_name(99), reason_name(99), source_name(99)) == ("99", "99", "99")


def test_terminal_states_are_those_a_task_never_leaves() -> None:
    assert {state_name(state) for state in TERMINAL_STATES} == {
        "TASK_FINISHED",
        "TASK_FAILED",
        "TASK_KILLED",
        "TASK_ERROR",
        "TASK_LOST",
        "TASK_DROPPED",
        "TASK_GONE",
        "TASK_GONE_BY_OPERATOR",
    }

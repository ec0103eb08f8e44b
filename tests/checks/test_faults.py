import pytest

from tfmesos.checks import fault
from tfmesos.wire import mesos_pb2

Health = mesos_pb2.HealthCheck


def test_a_task_without_checks_is_fine() -> None:
    assert fault(mesos_pb2.TaskInfo()) is None


def test_a_sound_health_check_is_fine() -> None:
    assert fault(mesos_pb2.TaskInfo(health_check=Health(command=mesos_pb2.CommandInfo(value="true")))) is None


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (mesos_pb2.TaskInfo(health_check=Health()), "health_check must have one of command, http, tcp"),
        (
            mesos_pb2.TaskInfo(health_check=Health(tcp=Health.TCPCheckInfo(port=70000))),
            "health_check has port 70000; allowed are 1 to 65535",
        ),
        (
            mesos_pb2.TaskInfo(
                check=mesos_pb2.CheckInfo(http=mesos_pb2.CheckInfo.Http(port=1), interval_seconds=float("nan"))
            ),
            "check has interval_seconds nan; it must be a finite number, not below 0",
        ),
        (
            mesos_pb2.TaskInfo(
                health_check=Health(http=Health.HTTPCheckInfo(port=1), grace_period_seconds=float("inf"))
            ),
            "health_check has grace_period_seconds inf; it must be a finite number, not below 0",
        ),
    ],
)
def test_what_cannot_be_checked_is_named(task: mesos_pb2.TaskInfo, text: str) -> None:
    assert fault(task) == text

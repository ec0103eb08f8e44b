"""What the result of a check means for its task. Pure: results and the time in, verdicts out."""

from dataclasses import dataclass

from tfmesos.wire import mesos_pb2


@dataclass(frozen=True, slots=True)
class HealthVerdict:
    """What to tell of a task's health, and whether the task is to be killed for it."""

    is_healthy: bool
    is_hopeless: bool = False


class HealthJudge:
    """Turns successes and failures into verdicts.

    Mesos 1.11 (recorded: agent-kill-and-fail): the first success is told, and the first one after a failure; *every*
    failure is told, but those within the grace period before the first success; with the last of
    `consecutive_failures` the task is hopeless.
    """

    def __init__(self, check: mesos_pb2.HealthCheck) -> None:
        self._grace_s = check.grace_period_seconds
        self._allowed = check.consecutive_failures
        self._has_succeeded = False
        self._failures = 0

    def judge(self, is_success: bool, elapsed_s: float) -> HealthVerdict | None:
        """The verdict to tell, so long after the checks began; None if there is nothing new."""
        if is_success:
            is_news = not self._has_succeeded or self._failures > 0
            self._has_succeeded, self._failures = True, 0
            return HealthVerdict(True) if is_news else None
        if not self._has_succeeded and elapsed_s < self._grace_s:
            return None
        self._failures += 1
        return HealthVerdict(False, is_hopeless=self._failures >= self._allowed)


class CheckJudge:
    """Tells a check's result when it differs from the last one.

    Mesos 1.11: a look that gave no result (timed out, connection refused) counts as a result without content.
    """

    def __init__(self, check: mesos_pb2.CheckInfo) -> None:
        self._last = empty_status(check)

    def judge(self, status: mesos_pb2.CheckStatusInfo) -> mesos_pb2.CheckStatusInfo | None:
        """The status to tell; None if it is the same as before."""
        if status == self._last:
            return None
        self._last = status
        return status


def means_health(result: mesos_pb2.CheckStatusInfo) -> bool:
    """Mesos 1.11: exit status 0, HTTP 200 to 399 (its executors take no notice of `statuses`), a TCP connection."""
    match result.type:
        case mesos_pb2.CheckInfo.COMMAND:
            return result.command.HasField("exit_code") and result.command.exit_code == 0
        case mesos_pb2.CheckInfo.HTTP:
            return 200 <= result.http.status_code < 400
        case _:
            return result.tcp.succeeded


def empty_status(check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck) -> mesos_pb2.CheckStatusInfo:
    """A result of the check's type with nothing in it; a task with a check has it in each status (Mesos 1.11)."""
    status = mesos_pb2.CheckStatusInfo(type=_kind_of(check))
    match status.type:
        case mesos_pb2.CheckInfo.COMMAND:
            status.command.SetInParent()
        case mesos_pb2.CheckInfo.HTTP:
            status.http.SetInParent()
        case _:
            status.tcp.SetInParent()
    return status


def _kind_of(check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck) -> mesos_pb2.CheckInfo.Type.ValueType:
    """As given, or told by what the check has: Mesos 1.11 allows a health check without type."""
    if check.type:
        return mesos_pb2.CheckInfo.Type.ValueType(check.type)
    if check.HasField("command"):
        return mesos_pb2.CheckInfo.COMMAND
    return mesos_pb2.CheckInfo.HTTP if check.HasField("http") else mesos_pb2.CheckInfo.TCP

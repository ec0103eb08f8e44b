"""What cannot be checked."""

import math
from collections.abc import Iterator

from tfmesos.wire import mesos_pb2

_HIGHEST_PORT = 65535


def fault(task: mesos_pb2.TaskInfo) -> str | None:
    """Why the task's check or health check cannot be done, in one line; None if both can, or there are none."""
    return next(_faults(task), None)


def _faults(task: mesos_pb2.TaskInfo) -> Iterator[str]:
    if task.HasField("check"):
        yield from _check_faults("check", task.check)
    if task.HasField("health_check"):
        yield from _check_faults("health_check", task.health_check)
        yield from _time_faults("health_check", task.health_check, "grace_period_seconds")


def _check_faults(name: str, check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck) -> Iterator[str]:
    if not any(check.HasField(kind) for kind in ("command", "http", "tcp")):
        yield f"{name} must have one of command, http, tcp"
    ports = [check.http.port] if check.HasField("http") else []
    ports += [check.tcp.port] if check.HasField("tcp") else []
    yield from (
        f"{name} has port {port}; allowed are 1 to {_HIGHEST_PORT}" for port in ports if not 0 < port <= _HIGHEST_PORT
    )
    for field in ("delay_seconds", "interval_seconds", "timeout_seconds"):
        yield from _time_faults(name, check, field)


def _time_faults(name: str, check: mesos_pb2.CheckInfo | mesos_pb2.HealthCheck, field: str) -> Iterator[str]:
    value: float = getattr(check, field)
    if not (value >= 0 and math.isfinite(value)):
        yield f"{name} has {field} {value:g}; it must be a finite number, not below 0"

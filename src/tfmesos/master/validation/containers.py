"""CommandInfo, ContainerInfo and health checks."""

from collections.abc import Iterable
from typing import Protocol

from tfmesos.wire import mesos_pb2
from tfmesos.wire.volumes import volume_fault

_Variable = mesos_pb2.Environment.Variable


def command_error(command: mesos_pb2.CommandInfo) -> str | None:
    """Why the command's environment is not allowed; None if it is."""
    return _first(_variable_error(variable) for variable in command.environment.variables)


def container_error(container: mesos_pb2.ContainerInfo) -> str | None:
    """Why the container makes no sense; None if it does."""
    wrong = _first(volume_fault(volume) for volume in container.volumes)
    if wrong:
        return f"Invalid volume: {wrong}"
    if container.type == mesos_pb2.ContainerInfo.DOCKER:
        if not container.HasField("docker"):
            return "DockerInfo 'docker' is not set for DOCKER typed ContainerInfo"
        if any(parameter.key == "name" for parameter in container.docker.parameters):
            return "Parameter in DockerInfo must not be 'name'"
    return None


def check_error(check: mesos_pb2.CheckInfo) -> str | None:
    """Why the check makes no sense; None if it does."""
    if not check.HasField("type"):
        return "CheckInfo must specify 'type'"
    name = mesos_pb2.CheckInfo.Type.Name(check.type)
    if name == "UNKNOWN":
        return "'UNKNOWN' is not a valid check type"
    if not check.HasField(name.lower()):  # type: ignore[arg-type]
        return f"Expecting '{name.lower()}' to be set for {name} check"
    if name == "COMMAND":
        return _check_command_error(check.command.command, "Command check") or _times_error(check)
    if name == "HTTP" and check.http.HasField("path") and not check.http.path.startswith("/"):
        return f"The path '{check.http.path}' of HTTP check must start with '/'"
    return _times_error(check)


def health_check_error(check: mesos_pb2.HealthCheck) -> str | None:
    """Why the health check makes no sense; None if it does."""
    if not check.HasField("type"):
        return "HealthCheck must specify 'type'"
    name = mesos_pb2.HealthCheck.Type.Name(check.type)
    if name == "UNKNOWN":
        return "'UNKNOWN' is not a valid health check type"
    if not check.HasField(name.lower()):  # type: ignore[arg-type]
        return f"Expecting '{name.lower()}' to be set for {name} health check"
    if name == "COMMAND":
        wrong = _check_command_error(check.command, "Command health check")
    else:
        wrong = _http_error(check.http) if name == "HTTP" else None
    if wrong is None and check.grace_period_seconds < 0:
        wrong = "Expecting 'grace_period_seconds' to be non-negative"
    return wrong or _times_error(check)


def _variable_error(variable: _Variable) -> str | None:
    named = f"Environment variable '{variable.name}' of type"
    match variable.type:
        case _Variable.SECRET:
            if not variable.HasField("secret"):
                return f"{named} 'SECRET' must have a secret set"
            return f"{named} 'SECRET' must not have a value set" if variable.HasField("value") else None
        case _Variable.VALUE:
            if not variable.HasField("value"):
                return f"{named} 'VALUE' must have a value set"
            return f"{named} 'VALUE' must not have a secret set" if variable.HasField("secret") else None
        case _:
            return "Environment variable of type 'UNKNOWN' is not allowed"


def _check_command_error(command: mesos_pb2.CommandInfo, what: str) -> str | None:
    if not command.HasField("value"):
        return f"{what} must contain {repr('shell command') if command.shell else repr('executable path')}"
    wrong = command_error(command)
    return f"{what}'s `CommandInfo` is invalid: {wrong}" if wrong else None


def _http_error(http: mesos_pb2.HealthCheck.HTTPCheckInfo) -> str | None:
    if http.HasField("scheme") and http.scheme not in ("http", "https"):
        return f"Unsupported HTTP health check scheme: '{http.scheme}'"
    if http.HasField("path") and not http.path.startswith("/"):
        return f"The path '{http.path}' of HTTP health check must start with '/'"
    return None


class _Timed(Protocol):
    delay_seconds: float
    interval_seconds: float
    timeout_seconds: float


def _times_error(check: _Timed) -> str | None:
    times = (
        ("delay_seconds", check.delay_seconds),
        ("interval_seconds", check.interval_seconds),
        ("timeout_seconds", check.timeout_seconds),
    )
    return _first(f"Expecting '{name}' to be non-negative" if value < 0 else None for name, value in times)


def _first(errors: Iterable[str | None]) -> str | None:
    return next(filter(None, errors), None)

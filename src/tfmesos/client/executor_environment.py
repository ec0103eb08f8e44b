"""What an agent tells its executor through the environment (Mesos 1.11: names and texts)."""

from collections.abc import Mapping
from typing import NamedTuple

from tfmesos.client.errors import ExecutorEnvironmentError
from tfmesos.flags import FlagError, parse_duration
from tfmesos.transport import Address, TcpAddress, UnixAddress


class ExecutorEnvironment(NamedTuple):
    """Who this executor is and how it reaches its agent."""

    framework_id: str
    executor_id: str
    agent: Address
    sandbox: str
    does_checkpoint: bool = False
    recovery_timeout_s: float = 900.0
    backoff_max_s: float = 2.0
    shutdown_grace_s: float = 5.0
    token: str | None = None
    ip: str = "127.0.0.1"
    """Of this machine, as the agent sees it."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "ExecutorEnvironment":
        """Read the `MESOS_*` variables; ExecutorEnvironmentError names the one that is missing or wrong."""
        return cls(
            framework_id=_needed(environ, "MESOS_FRAMEWORK_ID"),
            executor_id=_needed(environ, "MESOS_EXECUTOR_ID"),
            agent=_agent(environ),
            sandbox=environ.get("MESOS_SANDBOX") or _needed(environ, "MESOS_DIRECTORY"),
            does_checkpoint=environ.get("MESOS_CHECKPOINT") == "1",
            recovery_timeout_s=_duration(environ, "MESOS_RECOVERY_TIMEOUT", "15mins"),
            backoff_max_s=_duration(environ, "MESOS_SUBSCRIPTION_BACKOFF_MAX", "2secs"),
            shutdown_grace_s=_duration(environ, "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "5secs"),
            token=environ.get("MESOS_EXECUTOR_AUTHENTICATION_TOKEN"),
            ip=environ.get("LIBPROCESS_IP") or "127.0.0.1",
        )


def _needed(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    if not value:
        raise ExecutorEnvironmentError(name, "it is not set; an agent sets it for the executors that it starts")
    return value


def _agent(environ: Mapping[str, str]) -> Address:
    """The agent's unix socket if it has one for its executors, else its TCP port."""
    path = environ.get("MESOS_DOMAIN_SOCKET")
    if path:
        return UnixAddress(path)
    text = _needed(environ, "MESOS_AGENT_ENDPOINT")
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ExecutorEnvironmentError("MESOS_AGENT_ENDPOINT", f"'{text}' is not IP:PORT")
    return TcpAddress(host.strip("[]"), int(port))


def _duration(environ: Mapping[str, str], name: str, default: str) -> float:
    try:
        return parse_duration(environ.get(name) or default)
    except (ValueError, FlagError) as error:
        raise ExecutorEnvironmentError(name, str(error)) from error

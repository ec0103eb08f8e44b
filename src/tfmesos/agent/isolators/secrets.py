"""environment_secret: variables whose values are secrets (pure; Mesos 1.11: environment_secret.cpp).

There is no resolver of references, as in Mesos without a module for it: values only.
"""

from __future__ import annotations

from tfmesos.wire import mesos_pb2

_Variable = mesos_pb2.Environment.Variable


def environment_of(command: mesos_pb2.CommandInfo) -> dict[str, str]:
    """The variables that a command says, secret ones, too; `secret_fault` has looked at each of those."""
    return {variable.name: _value(variable) for variable in command.environment.variables}


def variable_fault(variable: mesos_pb2.Environment.Variable) -> str | None:
    """Why a variable cannot have its value; None if it can. The text says nothing of the value."""
    if variable.type != _Variable.SECRET:
        return None
    fault = secret_fault(variable.secret) if variable.HasField("secret") else "there is no secret"
    if fault is None and not _is_text(variable.secret.value.data):
        fault = "its value is not UTF-8, or has a zero byte"
    return f"environment variable '{variable.name}': {fault}" if fault else None


def secret_fault(secret: mesos_pb2.Secret) -> str | None:
    """Why a secret cannot be resolved; None if it can."""
    if secret.type == mesos_pb2.Secret.REFERENCE:
        return f"the secret is a reference to '{secret.reference.name}', and this agent resolves values only"
    if secret.type != mesos_pb2.Secret.VALUE or not secret.HasField("value"):
        return "the secret has no value"
    return None


def _value(variable: mesos_pb2.Environment.Variable) -> str:
    if variable.type == _Variable.SECRET:
        return variable.secret.value.data.decode()
    return variable.value


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False

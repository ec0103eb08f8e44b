"""environment_secret: variables whose values are secrets."""

from __future__ import annotations

import pytest

from tfmesos.agent.isolators import environment_of
from tfmesos.agent.isolators.secrets import secret_fault, variable_fault
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Environment.Variable
S = mesos_pb2.Secret


def variable(data: bytes | None, name: str = "KEY") -> V:
    secret = S(type=S.VALUE)
    if data is not None:
        secret.value.data = data
    return V(name=name, type=V.SECRET, secret=secret)


def test_a_secret_is_the_value_of_its_variable_and_the_last_of_a_name_counts() -> None:
    command = mesos_pb2.CommandInfo()
    command.environment.variables.extend(
        [V(name="A", value="1"), variable("geheim ü".encode()), V(name="A", value="2"), variable(b"3", "A")]
    )

    assert environment_of(command) == {"A": "3", "KEY": "geheim ü"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (V(name="KEY", value="plain"), None),
        (variable(b"fine"), None),
        (variable(b""), None),
        (variable(None), "environment variable 'KEY': the secret has no value"),
        (V(name="KEY", type=V.SECRET), "environment variable 'KEY': there is no secret"),
        (variable(b"top\xffsecret"), "environment variable 'KEY': its value is not UTF-8, or has a zero byte"),
        (variable(b"top\0secret"), "environment variable 'KEY': its value is not UTF-8, or has a zero byte"),
        (
            V(name="KEY", type=V.SECRET, secret=S(type=S.REFERENCE, reference=S.Reference(name="vault"))),
            "environment variable 'KEY': the secret is a reference to 'vault', and this agent resolves values only",
        ),
    ],
)
def test_what_cannot_be_a_value_is_told_without_telling_it(given: V, text: str | None) -> None:
    assert variable_fault(given) == text


def test_a_secret_of_no_kind_has_no_value() -> None:
    assert secret_fault(S()) == "the secret has no value"

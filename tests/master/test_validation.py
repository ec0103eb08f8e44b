"""The rules for names and bodies: pure functions."""

from __future__ import annotations

import pytest

from tfmesos.master.validation import FrameworkRules, framework_error, id_error, role_error
from tfmesos.wire import mesos_pb2


@pytest.mark.parametrize("text", ["a", "a-b.c", "é" * 127, "x" * 255, "..."])
def test_good_ids(text: str) -> None:
    assert id_error(text) is None


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a\\b", "a\nb", "a\x00", "a\x7f", "x" * 256, "é" * 128])
def test_bad_ids(text: str) -> None:
    assert id_error(text)


@pytest.mark.parametrize("role", ["*", "a", "a/b/c", "a-b", "é", "a" * 1024])
def test_good_roles(role: str) -> None:
    assert role_error(role) is None


@pytest.mark.parametrize(
    "role", ["", "/a", "a/", "a//b", "a b", "-a", "a/-b", ".", "a/..", "a/*", "a\t", "a\x7f", "a/" * 512 + "a"]
)
def test_bad_roles(role: str) -> None:
    assert role_error(role)


def rules(**changes: object) -> FrameworkRules:
    return FrameworkRules(**({"whitelist": None, "root_submissions": True, "completed": ()} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"whitelist": ("a",)}, "Roles { r } are not present in the master's --roles"),
        (
            {"root_submissions": False},
            "User 'root' is not allowed to run frameworks without --root_submissions set",
        ),
        ({"completed": ("gone",)}, "Framework has been removed"),
    ],
)
def test_what_the_master_rather_than_the_info_forbids(changes: dict[str, object], text: str) -> None:
    info = mesos_pb2.FrameworkInfo(user="root", name="x", role="r")
    info.id.value = "gone"
    assert framework_error(info, (), rules(**changes)) == text
    assert framework_error(info, (), rules()) is None


@pytest.mark.parametrize("timeout", [float("nan"), float("inf"), 1e20, -1e20])
def test_a_failover_timeout_beyond_a_duration_is_refused(timeout: float) -> None:
    info = mesos_pb2.FrameworkInfo(user="x", name="x", failover_timeout=timeout)
    assert "failover_timeout" in (framework_error(info, (), rules()) or "")

"""posix/rlimits."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from tests.agent.isolators.views import config, refusal_of, view_of
from tfmesos.agent.containerizer import ContainerConfig
from tfmesos.agent.isolators import Rlimit, View
from tfmesos.agent.isolators.rlimits import UNLIMITED, RlimitsIsolator, no_most, own_most
from tfmesos.wire import mesos_pb2

RL = mesos_pb2.RLimitInfo.RLimit
LOCKS = 10  # kernel: asm-generic/resource.h


def limited(*limits: Any) -> ContainerConfig:
    given = config()
    assert given.container is not None
    given.container.rlimit_info.rlimits.extend(RL(**limit) for limit in limits)
    return given


async def test_limits_are_taken_as_they_are() -> None:
    given = limited({"type": RL.RLMT_NOFILE, "soft": 10, "hard": 20}, {"type": RL.RLMT_CORE}, {"type": RL.RLMT_LOCKS})

    assert await view_of(RlimitsIsolator(no_most), given) == View(
        rlimits=(
            Rlimit(type="RLIMIT_NOFILE", soft=10, hard=20),
            Rlimit(type="RLIMIT_CORE", soft=UNLIMITED, hard=UNLIMITED),
            Rlimit(type="RLIMIT_LOCKS", soft=UNLIMITED, hard=UNLIMITED),
        )
    )


@pytest.mark.parametrize("name", [name for name in RL.Type.DESCRIPTOR.values_by_name if name != "UNKNOWN"])
async def test_no_limit_exceeds_what_the_agent_may_set(name: str) -> None:
    given = limited({"type": RL.Type.Value(name)})

    view = await view_of(RlimitsIsolator(own_most), given)

    hard = resource.getrlimit(getattr(resource, name.replace("RLMT", "RLIMIT"), LOCKS))[1]
    expected = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    assert view == View(rlimits=(Rlimit(type=name.replace("RLMT", "RLIMIT"), soft=expected, hard=expected),))


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ([{}], "Invalid rlimit_info: a limit has no type that this agent knows"),
        (
            [{"type": RL.RLMT_CPU, "soft": 1}],
            "Invalid rlimit_info: RLIMIT_CPU has one of soft and hard only; both or neither are wanted",
        ),
        (
            [{"type": RL.RLMT_CPU, "soft": 2, "hard": 1}],
            "Invalid rlimit_info: RLIMIT_CPU has a soft limit 2 above its hard 1",
        ),
        ([{"type": RL.RLMT_AS}] * 2, "Invalid rlimit_info: RLIMIT_AS is given more than once"),
    ],
)
async def test_limits_that_cannot_be_meant_are_refused(limits: list[dict[str, int]], text: str) -> None:
    assert await refusal_of(RlimitsIsolator(no_most), limited(*limits)) == text

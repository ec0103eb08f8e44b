"""The rights of this user, and the cgroups."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tfmesos.agent.doctor.finding import Finding
from tfmesos.agent.doctor.flags import DoctorFlags
from tfmesos.agent.doctor.wants import CONTROLLERS, Wants
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.isolators import wanted_isolators
from tfmesos.cgroups import Hierarchies


def isolation_findings(flags: DoctorFlags, wants: Wants) -> Iterator[Finding]:
    """User, cgroups, isolators."""
    hierarchies = Hierarchies.detect(base=flags.cgroups_hierarchy)
    yield _user(wants)
    yield Finding(
        subject="cgroups",
        text="none" if hierarchies.version is None else f"version {hierarchies.version}",
        is_there=hierarchies.version is not None,
        remedy="`mount -t cgroup2 cgroup2 /sys/fs/cgroup`; a container needs those of its machine",
        is_needed=bool(wants.controllers),
    )
    for controller in CONTROLLERS:
        fault = hierarchies.faults(controller)
        yield Finding(
            subject=f"cgroup {controller}",
            text=fault or str(hierarchies.path_of(controller)),
            is_there=fault is None,
            is_needed=controller in wants.controllers,
        )
    yield _isolators(flags, hierarchies)


def _user(wants: Wants) -> Finding:
    user = os.geteuid()
    return Finding(
        subject="user",
        text="root" if user == 0 else f"{user} is not root, runs only its own user's tasks and isolates nothing",
        is_there=user == 0,
        remedy="run the agent as root" if wants.root else "",
        is_needed=wants.root,
    )


def _isolators(flags: DoctorFlags, hierarchies: Hierarchies) -> Finding:
    try:
        names = wanted_isolators(flags, hierarchies).names
    except BadAgentFlags as error:
        return Finding(subject="isolators", text=str(error), is_there=False, is_needed=True)
    return Finding(subject="isolators", text=", ".join(names))

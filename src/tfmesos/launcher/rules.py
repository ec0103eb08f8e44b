"""What a master of some version of Mesos wants of a framework. Pure."""

import re
from dataclasses import dataclass, replace

from tfmesos.launcher.containers import Containerizer, ContainerOptions

_VERSION = re.compile(r"\D*(\d+)\.(\d+)")
_OLD = range(20, 29)
"""Apache Mesos was 0.20 to 0.28 while it had docker containers and was not yet 1.0; ClusterD counts from 0.1 anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MesosRules:
    """`containerizer` runs the images of a job that names none.

    `has_capabilities`: the framework declares what it understands. A master before 1.0 refuses the capabilities of
    later ones (MESOS-4997), among them GPU_RESOURCES, and knows reservations in the old format only. There, GPUs are a
    SET of their names, and who gives them to a docker container is the nvidia-docker plugin of the agent's machine.
    """

    containerizer: Containerizer
    has_capabilities: bool

    def applied_to(self, container: ContainerOptions) -> ContainerOptions:
        """The same with the containerizer decided."""
        return container if container.type is not None else replace(container, type=self.containerizer)


MODERN = MesosRules(containerizer=Containerizer.MESOS, has_capabilities=True)
BEFORE_1_0 = MesosRules(containerizer=Containerizer.DOCKER, has_capabilities=False)


def rules_of(version: str) -> MesosRules:
    """The rules for a version as masters tell it: `1.11.0`, `0.28.2`, also with suffixes, `1.0.0-rc2`, `v1.9.0+git`.

    Where no number can be read it is a master of today. TFMesos 0.0.10: MESOS from 1.0.0 on, else DOCKER.
    """
    found = _VERSION.match(version)
    is_old = found is not None and int(found[1]) == 0 and int(found[2]) in _OLD
    return BEFORE_1_0 if is_old else MODERN

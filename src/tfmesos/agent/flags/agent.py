"""All flags of `mesos-agent` as one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tfmesos.agent.flags.containers import ContainerFlags
from tfmesos.agent.flags.docker import DockerFlags
from tfmesos.agent.flags.general import GeneralFlags
from tfmesos.agent.flags.gpus import GpuFlags
from tfmesos.agent.flags.images import ImageFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFlags(GpuFlags, DockerFlags, ImageFlags, ContainerFlags, GeneralFlags):
    """What an agent can be told; the same object whether it comes from the command line, MESOS_* or a caller.

    The last part's flags come first: fields are told in the order of the method resolution, reversed.
    """

    @property
    def runtime_path(self) -> Path:
        """Where --runtime_dir is."""
        return Path(self.runtime_dir or f"{self.work_dir}/run").absolute()

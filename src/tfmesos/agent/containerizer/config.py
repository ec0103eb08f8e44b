"""What a container shall be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:  # images know containers by their ids
    from tfmesos.agent.images import Root

_GPUS = "gpus"
_MESOS = mesos_pb2.ContainerInfo.MESOS


class ContainerKind(Enum):
    """What a container is for."""

    COMMAND_TASK = "command task"
    """A task's command without an executor program: the agent itself speaks for it."""
    EXECUTOR = "executor"
    """A program that subscribes as an executor."""
    NESTED = "nested"
    """Made by an executor, or by anyone, inside another container."""
    STANDALONE = "standalone"
    """Made by an operator; belongs to no framework and outlives the agent."""


class RuntimeName(Enum):
    """What makes a container's first process, and ends it."""

    HOST = "host"
    """The supervisor itself: a program on the host's file system."""
    OCI = "oci"
    """An OCI runtime: a view of its own, with or without an image."""
    DOCKER = "docker"
    """The Docker engine; the supervised program is its client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    """Everything that is known of a container before it is launched.

    `directory`: absolute, made by `launch` with its parents, and for tasks and executors the link `latest` beside it;
    of a container nested in another it is always `<sandbox of that>/containers/<id>`.
    `user`: whose rights it gets; empty: those of the container it is nested in, else those of the agent (which must
    not be root then). `environment`: beneath what the containerizer adds (MESOS_SANDBOX) and `command.environment`;
    PATH has a default. `checkpoint`: it outlives the agent, and `recover` finds it again.
    """

    id: ContainerId
    kind: ContainerKind
    command: mesos_pb2.CommandInfo
    directory: str
    user: str = ""
    container: mesos_pb2.ContainerInfo | None = None
    resources: tuple[mesos_pb2.Resource, ...] = ()
    shares: Mapping[str, Resources] = field(default_factory=dict)
    """Of an executor's container: what the tasks bring that come with it, by task id; see Isolation.update."""
    environment: Mapping[str, str] = field(default_factory=dict)
    is_debug: bool = False
    """It shares the view and the environment of the container it is nested in, and has a console."""
    checkpoint: bool = False
    root: Root | None = None
    """Its image and root file system, once `launch` has provided them; not kept for the next agent."""
    runtime: RuntimeName = RuntimeName.HOST
    """What makes it; said by `launch` before anything is prepared."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Variables in place of what `command.environment` says; said by isolation."""
    working_directory: str | None = None
    """Where its program starts, as that sees it; None: in `directory`. Said by `launch`."""

    @property
    def is_oci(self) -> bool:
        """Whether an OCI runtime makes it."""
        return self.runtime is RuntimeName.OCI

    @property
    def has_image(self) -> bool:
        """Whether it asks for an image of the Mesos containerizer."""
        container = self.container
        return container is not None and container.type == _MESOS and container.mesos.HasField("image")

    @property
    def names_gpus(self) -> bool:
        """Whether it is launched with GPUs."""
        own = any(resource.name == _GPUS and resource.scalar.value > 0 for resource in self.resources)
        return own or any(share.scalar(_GPUS) for share in self.shares.values())

"""A containerizer without an agent."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, Containerizer, ContainerKind
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

Configure = Callable[..., ContainerConfig]


@pytest.fixture
def flags(tmp_path: Path) -> AgentFlags:
    return AgentFlags(
        master="none", work_dir=str(tmp_path), switch_user=False, fetcher_cache_dir=str(tmp_path / "cache")
    )


@pytest.fixture
async def containerizer(flags: AgentFlags) -> AsyncIterator[Containerizer]:
    running = Containerizer(flags, Supervisors())
    await running.start()
    yield running
    await running.close(end_detached=True)


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Makes the configuration of a container that runs a line of shell; nested if a parent is given."""

    def make(line: str, name: str = "c", parent: ContainerId | None = None, **changes: Any) -> ContainerConfig:
        config = ContainerConfig(
            id=ContainerId(name, parent),
            kind=ContainerKind.NESTED if parent else ContainerKind.COMMAND_TASK,
            command=mesos_pb2.CommandInfo(value=line),
            directory=str(tmp_path / "runs" / name),
        )
        return dataclasses.replace(config, **changes)

    return make


def output(container: Container, name: str = "stdout") -> str:
    """What a container has written."""
    return Path(container.directory, name).read_text(errors="replace")


def touch(container: Container, name: str) -> None:
    """What a container may wait for."""
    Path(container.directory, name).touch()

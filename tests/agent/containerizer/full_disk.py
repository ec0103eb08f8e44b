"""A containerizer on a disk that is full; a program of its own, because the disk is mounted for it alone."""

from __future__ import annotations

import asyncio
import os
import sys

from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, Containerizer, ContainerKind, LaunchFailed
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2


async def _run(containerizer: Containerizer, work_dir: str, name: str, line: str, *, checkpoint: bool = False) -> str:
    """What became of a container, in a line."""
    config = ContainerConfig(
        id=ContainerId(name),
        kind=ContainerKind.COMMAND_TASK,
        command=mesos_pb2.CommandInfo(value=line),
        directory=f"{work_dir}/runs/{name}",
        checkpoint=checkpoint,
    )
    try:
        container = await containerizer.launch(config)
    except LaunchFailed as error:
        return str(error)
    await container.open_gate()
    termination = await container.wait()
    containerizer.forget(config.id)
    return f"wait status {termination.wait_status}"


async def main(work_dir: str) -> None:
    flags = AgentFlags(master="none", work_dir=work_dir, switch_user=False)
    containerizer = Containerizer(flags, Supervisors())
    await containerizer.start()
    print(await _run(containerizer, work_dir, "filling", "cat /dev/zero"))
    print(await _run(containerizer, work_dir, "checkpointing", "true", checkpoint=True))
    os.truncate(f"{work_dir}/runs/filling/stdout", 0)
    print(await _run(containerizer, work_dir, "after", "exit 3", checkpoint=True))
    await containerizer.close()


asyncio.run(main(sys.argv[1]))

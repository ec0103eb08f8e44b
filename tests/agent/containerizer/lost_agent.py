"""An agent with one container that has an image; run as a program, to be killed.

Arguments: AgentFlags as JSON, and whether the container is to outlive it. Prints the supervisor's pid when that runs.
"""

import asyncio
import json
import sys
from typing import Any

from tfmesos.agent import AgentFlags
from tfmesos.agent.assembly import build_containerizer
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.metrics import Metrics
from tfmesos.wire import mesos_pb2


async def main(given: dict[str, Any], checkpoint: bool) -> None:
    given["image_providers"], given["containerizers"] = ("DOCKER",), ("mesos",)
    flags = AgentFlags(**given)
    containerizer = await build_containerizer(flags, Metrics())
    await containerizer.start()
    info = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    info.mesos.image.type, info.mesos.image.docker.name = mesos_pb2.Image.DOCKER, "box"
    config = ContainerConfig(
        id=ContainerId("c"),
        kind=ContainerKind.COMMAND_TASK,
        command=mesos_pb2.CommandInfo(value="trap 'exit 3' TERM; (setsid sleep 1000 &); sleep 1000 & wait"),
        directory=f"{flags.work_dir}/runs/c",
        container=info,
        checkpoint=checkpoint,
    )
    container = await containerizer.launch(config)
    await container.open_gate()
    print(container.pid, flush=True)
    await container.wait()


asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2] == "stays"))

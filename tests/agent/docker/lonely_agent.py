"""Starts a container of the Docker engine, says so, and does nothing more: it is to be killed."""

from __future__ import annotations

import asyncio
import sys

from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, Containerizer, ContainerKind
from tfmesos.agent.containerizer.config import RuntimeName
from tfmesos.agent.containerizer.parts import Parts
from tfmesos.agent.docker import DockerRuntime
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2


async def main(work_dir: str, socket: str, name: str, directory: str, image: str) -> None:
    flags = AgentFlags(
        master="none", work_dir=work_dir, switch_user=False, containerizers=("docker",), docker_socket=socket
    )
    parts = Parts(runtimes={RuntimeName.DOCKER: await DockerRuntime.open(flags)})
    containerizer = Containerizer(flags, Supervisors(), parts)
    await containerizer.start()
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER)
    container.docker.image = image
    config = ContainerConfig(
        id=ContainerId(name),
        kind=ContainerKind.COMMAND_TASK,
        command=mesos_pb2.CommandInfo(value="trap exit TERM; while :; do sleep 0.1; done"),
        directory=directory,
        container=container,
    )
    launched = await containerizer.launch(config)
    await launched.open_gate()
    await launched.wait_running()
    print("running", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))

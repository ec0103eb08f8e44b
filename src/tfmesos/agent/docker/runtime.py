"""The Docker containerizer: containers of the Docker engine, each followed by a client (Mesos 1.11: docker.cpp)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import replace

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind, RuntimeName
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.runtimes import RunningNews
from tfmesos.agent.docker.arguments import run_arguments
from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.container import DockerContainer
from tfmesos.agent.docker.dns import parse_default_dns
from tfmesos.agent.docker.errors import DockerError
from tfmesos.agent.docker.images import DockerImages
from tfmesos.agent.docker.inspection import Inspection
from tfmesos.agent.docker.leftovers import Leftovers
from tfmesos.agent.docker.looks import end_programs, exec_command
from tfmesos.agent.docker.options import Surroundings, container_name, run_options, secret_names, secrets_of
from tfmesos.agent.docker.removals import Removals
from tfmesos.agent.docker.sandbox import link_sandbox, unlink_sandbox
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.gpu import DockerGpus, GpuError, docker_gpu_options
from tfmesos.agent.images import ImageRuntime
from tfmesos.agent.isolators import IsolationFailed, Limitation, Node, Prepared, parse_isolation
from tfmesos.agent.isolators.table import GPU_NVIDIA, GPU_POSIX
from tfmesos.flags import format_bytes
from tfmesos.supervision import ProcessSpec, TreeStatistics
from tfmesos.wire import mesos_pb2

_MARK = "MESOS_SANDBOX"
_MIB = 1024 * 1024
_log = logging.getLogger(__name__)


class DockerRuntime:
    """A ContainerRuntime whose containers the Docker engine makes."""

    def __init__(self, flags: AgentFlags, client: DockerClient, info: Mapping[str, object]) -> None:
        """`open` makes one that is known to work. `info`: what the engine said of itself."""
        self._flags = flags
        self._client = client
        self._work_dir = os.path.realpath(flags.work_dir)
        self._engine_gpus = DockerGpus.from_info(info)
        names = parse_isolation(flags.isolation)
        self._manages_gpus = GPU_NVIDIA in names or GPU_POSIX in names
        self._images = DockerImages(client, flags.docker_config)
        self._default_dns = parse_default_dns(flags.default_container_dns) if flags.default_container_dns else ()
        self._removals = Removals(client)
        self._leftovers = Leftovers(client, self._removals, flags)
        self._containers: dict[ContainerId, DockerContainer] = {}
        self._looks: set[ContainerId] = set()
        self._nodes: dict[ContainerId, frozenset[Node]] = {}

    @classmethod
    async def open(cls, flags: AgentFlags) -> DockerRuntime:
        """Raises BadAgentFlags if no engine answers: what it runs could not be found again."""
        client = DockerClient(flags.docker, flags.docker_socket)
        try:
            info = await client.info()
        except DockerError as error:
            raise BadAgentFlags(
                f"--containerizers: docker cannot be used: {error} (start the engine, name its socket by "
                "--docker_socket, or leave docker out)"
            ) from error
        _log.info("the Docker engine %s at %s", info.get("ServerVersion"), flags.docker_socket)
        return cls(flags, client, info)

    async def close(self) -> None:
        """Nothing is done for containers any more; those that go on are left to the next agent."""
        await asyncio.gather(*(container.close() for container in self._containers.values()))
        await self._removals.close()

    async def prepare(self, config: ContainerConfig, prepared: Prepared, spec: ProcessSpec) -> ProcessSpec:
        """Have the image there; what is supervised is the client. See ContainerRuntime."""
        if config.is_debug:
            return self._look(config, spec)
        if config.id.parent is not None:
            raise LaunchFailed("containers cannot be nested in those of the docker containerizer")
        assert config.container is not None
        docker = config.container.docker
        try:
            sandbox = link_sandbox(config.directory, config.id.value)
            options = run_options(config, self._surroundings(config, prepared, sandbox))
        except DockerError as error:
            raise LaunchFailed(f"Failed to create docker run options: {error}") from error
        try:
            image = await self._images.provide(docker.image, force=docker.force_pull_image, sandbox=config.directory)
            options = replace(options, devices=self._gpu_arguments(prepared, image, options.environment))
        except (DockerError, GpuError) as error:
            raise LaunchFailed(str(error)) from error
        self._nodes[config.id] = frozenset(prepared.view.nodes) if prepared.view is not None else frozenset()
        self._containers[config.id] = DockerContainer(self._client, options.name, secret_names(config.command))
        spec = self._client_spec(spec, config, (*self._client.prefix, *run_arguments(options)), options.secrets)
        return replace(spec, epilogue=(*self._client.prefix, *self._client.remove_command(options.name)))

    def _look(self, config: ContainerConfig, spec: ProcessSpec) -> ProcessSpec:
        try:
            argv, secrets = exec_command(self._client, config), secrets_of(config.command)
        except DockerError as error:
            raise LaunchFailed(str(error)) from error
        self._looks.add(config.id)
        return self._client_spec(spec, config, argv, secrets)

    def _client_spec(
        self, spec: ProcessSpec, config: ContainerConfig, argv: tuple[str, ...], secrets: Mapping[str, str]
    ) -> ProcessSpec:
        """The client runs as the agent does, in the sandbox."""
        return replace(
            spec,
            executable=argv[0],
            argv=argv,
            environment={**secrets, **self._client.environment, _MARK: config.directory},
            directory=config.directory,
            mark=_MARK,
            uid=None,
            gid=None,
            groups=(),
        )

    async def wait_running(self, container_id: ContainerId) -> RunningNews | None:
        """Until the engine says that it has started. See ContainerRuntime."""
        if container_id in self._looks:
            return None
        found = await self._containers[container_id].wait_started()
        return RunningNews(data=found.data, ip_address=found.ip_address)

    async def set_nodes(self, container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
        """An engine changes nothing in a container that runs. See ContainerRuntime."""
        given = self._nodes.setdefault(container_id, frozenset(wanted))  # an agent before gave what is held now
        if not given.issuperset(wanted) or not given.isdisjoint(absent):
            raise IsolationFailed("the GPUs of a container of the docker containerizer cannot be changed while it runs")

    def statistics(self, container_id: ContainerId) -> TreeStatistics | None:
        """Of what the engine has started. See ContainerRuntime."""
        container = self._containers.get(container_id)
        return container.statistics() if container is not None else None

    def kill(self, container_id: ContainerId, grace_s: float) -> bool:
        """Have the engine stop it. See ContainerRuntime."""
        container = self._containers.get(container_id)
        if container is None:
            return False
        container.stop(grace_s)
        return True

    async def cleanup(self, container_id: ContainerId) -> Limitation | None:
        """Until the engine runs nothing of it. See ContainerRuntime."""
        if container_id in self._looks:
            self._looks.discard(container_id)
            await end_programs(str(container_id))
        unlink_sandbox(self._work_dir, container_id.value)
        container = self._containers.get(container_id)
        if container is None:
            return None
        ended = await container.wait_gone()
        self._containers.pop(container_id, None)
        self._nodes.pop(container_id, None)
        # Also one whose end no engine has told: an engine that comes back still lists it.
        if self._flags.docker_remove_delay:
            self._removals.add(container.name, self._flags.docker_remove_delay)
        else:
            await self._removals.remove(container.name)
        return _limitation(ended) if ended is not None else None

    async def recover(
        self, known: Mapping[ContainerId, ContainerConfig], orphans: Mapping[ContainerId, ContainerConfig]
    ) -> None:
        """Find those of the agent before. See ContainerRuntime."""
        mine = [config for config in (*known.values(), *orphans.values()) if config.runtime is RuntimeName.DOCKER]
        self._looks.update(config.id for config in mine if config.is_debug)
        left = await self._leftovers.find()
        for config in (config for config in mine if not config.is_debug):
            name = container_name(str(config.id))
            container = DockerContainer(self._client, name, secret_names(config.command))
            self._containers[config.id] = container
            if name in left:
                container.note(left[name])
        await self._leftovers.remove_all_but({container.name for container in self._containers.values()})

    def _surroundings(self, config: ContainerConfig, prepared: Prepared, sandbox: str) -> Surroundings:
        return Surroundings(
            sandbox=sandbox,
            environment=prepared.environment if config.kind is ContainerKind.COMMAND_TASK else config.environment,
            overrides=prepared.overrides,
            manages_gpus=self._manages_gpus,
            is_cpu_capped=self._flags.cgroups_enable_cfs,
            default_dns=self._default_dns,
        )

    def _gpu_arguments(
        self, prepared: Prepared, image: ImageRuntime, environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        if prepared.view is None:
            return ()
        injection = self._flags.nvidia_injection
        return docker_gpu_options(prepared.view, self._engine_gpus, image, environment, injection=injection)


def _limitation(ended: Inspection) -> Limitation | None:
    """A container in which something was killed for want of memory, and which did not get over it."""
    if not ended.is_over_memory or ended.exit_status == 0:
        return None
    used = mesos_pb2.Resource(name="mem", type=mesos_pb2.Value.SCALAR)
    used.scalar.value = round(ended.memory_limit / _MIB, 3)
    limit = format_bytes(ended.memory_limit)
    return Limitation(
        reason=mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY,
        message=f"Memory limit exceeded: Requested: {limit} Maximum Used: {limit}",
        resources=(used,),
    )

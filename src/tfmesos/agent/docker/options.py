"""From a container's configuration to what `docker run` is told (Mesos 1.11: Docker::RunOptions::create). Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfmesos.agent.docker.arguments import Dns, RunOptions
from tfmesos.agent.docker.dns import DefaultDns, default_dns
from tfmesos.agent.docker.errors import DockerError
from tfmesos.agent.isolators import environment_of
from tfmesos.agent.isolators.secrets import variable_fault
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

if TYPE_CHECKING:  # the containerizer brings this room in
    from tfmesos.agent.containerizer.config import ContainerConfig

MAPPED_DIRECTORY = "/mnt/mesos/sandbox"
"""Where a container finds its sandbox (Mesos 1.11: DOCKER_MAPPED_SANDBOX_DIRECTORY)."""
CPU_SHARES_PER_CPU = 1024
_LEAST_CPU_SHARES = 2
_CPU_PERIOD_US = 100_000
_LEAST_CPU_QUOTA_US = 1000
_MIB = 1024 * 1024
_LEAST_MEMORY = 32 * _MIB
_MILLI = 1000
_Docker = mesos_pb2.ContainerInfo.DockerInfo
_Volume = mesos_pb2.Volume
_NETWORKS = {_Docker.HOST: "host", _Docker.BRIDGE: "bridge", _Docker.NONE: "none"}
_DNS_PARAMETERS = ("dns", "dns-search", "dns-opt")
NAME_VARIABLE = "MESOS_CONTAINER_NAME"
_SECRET = mesos_pb2.Environment.Variable.SECRET
_CLIENTS_OWN = ("LD_", "DOCKER_", "GO", "PATH", "HOME", "LANG", "MESOS_SANDBOX")
"""Variables that begin so are the client's."""
_REFUSED_PARAMETERS = {
    "name": "the agent names its containers",
    "detach": "the agent waits for its containers",
    "restart": "the framework decides what is started again",
    "cidfile": "it is a file of the agent's host",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the agent adds. `sandbox`: as the engine is to find it. `manages_gpus`: nobody else gives any.

    `overrides`: variables in place of the command's.
    """

    sandbox: str
    environment: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    manages_gpus: bool = False
    is_cpu_capped: bool = False
    default_dns: tuple[DefaultDns, ...] = ()


def container_name(container_id: str) -> str:
    """Mesos 1.11."""
    return f"mesos-{container_id}"


def run_options(config: ContainerConfig, around: Surroundings) -> RunOptions:
    """Raises DockerError with Mesos' text for what cannot be."""
    assert config.container is not None
    container, docker = config.container, config.container.docker
    _refuse_limits(container)
    resources = Resources.from_proto(config.resources)
    for share in config.shares.values():
        resources += share
    network = _network(container)
    entrypoint, arguments = _command(config.command)
    volumes, driver = _volumes(container, around.sandbox)
    cpus, memory = resources.scalar("cpus"), resources.scalar("mem")
    shares = max(CPU_SHARES_PER_CPU * cpus // _MILLI, _LEAST_CPU_SHARES) if cpus else None
    quota = max(_CPU_PERIOD_US * cpus // _MILLI, _LEAST_CPU_QUOTA_US) if cpus and around.is_cpu_capped else None
    return RunOptions(
        name=container_name(str(config.id)),
        image=_image(docker),
        network=network,
        privileged=docker.privileged,
        cpu_shares=shares,
        cpu_quota=quota,
        memory=max(memory * _MIB // _MILLI, _LEAST_MEMORY) if memory else None,
        environment=_environment(config, around),
        secrets=secrets_of(config.command),
        volumes=volumes,
        volume_driver=driver,
        dns=_dns(docker, network, around.default_dns),
        hostname=_hostname(container, network),
        ports=_ports(docker, network, resources),
        entrypoint=entrypoint,
        parameters=_parameters(docker, around.manages_gpus),
        arguments=arguments,
    )


def _refuse_limits(container: mesos_pb2.ContainerInfo) -> None:
    """What would be ignored otherwise, as in Mesos: nobody shall believe that it is in force."""
    names = [f"linux_info.{field.name}" for field, _ in container.linux_info.ListFields()]
    names += [name for name in ("rlimit_info", "tty_info") if container.HasField(name)]
    for name in names:
        if name != "linux_info.share_cgroups":
            raise DockerError(f"{name} is not supported in Docker containers; parameters of docker run are")


def _environment(config: ContainerConfig, around: Surroundings) -> Mapping[str, str]:
    """The later wins. A variable of the image stays, unless it is here."""
    return {
        **around.environment,
        **open_variables(config.command),
        **around.overrides,
        "MESOS_SANDBOX": MAPPED_DIRECTORY,
        NAME_VARIABLE: container_name(str(config.id)),
        **_allocation_role(config.resources),
    }


def open_variables(command: mesos_pb2.CommandInfo) -> Mapping[str, str]:
    """Variables that are no secrets."""
    return {variable.name: variable.value for variable in command.environment.variables if variable.type != _SECRET}


def secrets_of(command: mesos_pb2.CommandInfo) -> Mapping[str, str]:
    """Variables whose values no command line may show. Raises DockerError for what cannot be handed on."""
    names = secret_names(command)
    for fault in filter(None, map(variable_fault, command.environment.variables)):
        raise DockerError(fault)
    for name in names:
        if name.startswith(_CLIENTS_OWN):
            raise DockerError(f"the secret {name} would change the Docker client, which has to hand it on")
    values = environment_of(command)
    return {name: values[name] for name in names}


def secret_names(command: mesos_pb2.CommandInfo) -> tuple[str, ...]:
    """Of the variables that are secrets."""
    return tuple(variable.name for variable in command.environment.variables if variable.type == _SECRET)


def _allocation_role(resources: Sequence[mesos_pb2.Resource]) -> Mapping[str, str]:
    if resources and resources[0].HasField("allocation_info"):
        return {"MESOS_ALLOCATION_ROLE": resources[0].allocation_info.role}
    return {}


def _command(command: mesos_pb2.CommandInfo) -> tuple[str | None, tuple[str, ...]]:
    """Entry point, and what follows the image: the arguments are the image's, argv[0] is not among them."""
    if not command.shell:
        return None, (*([command.value] if command.value else []), *command.arguments)
    if not command.HasField("value"):
        raise DockerError("Shell specified but no command value provided")
    return "/bin/sh", ("-c", command.value)


def _network(container: mesos_pb2.ContainerInfo) -> str:
    mode = container.docker.network  # HOST if it is not set
    if mode != _Docker.USER:
        return _NETWORKS[mode]
    infos = container.network_infos
    if not infos:
        raise DockerError("No network info found in container info")
    if len(infos) > 1:
        raise DockerError("Only a single network can be defined in Docker run")
    if not infos[0].name:
        raise DockerError("No network name found in network info")
    return infos[0].name


def _hostname(container: mesos_pb2.ContainerInfo, network: str) -> str | None:
    if container.HasField("hostname") and network == "host":
        raise DockerError("Unable to set hostname with host network mode")
    return container.hostname or None


def _dns(docker: _Docker, network: str, defaults: tuple[DefaultDns, ...]) -> Dns:
    """What the task says goes with its parameters, and nothing else then."""
    if any(parameter.key in _DNS_PARAMETERS for parameter in docker.parameters):
        return Dns()
    return default_dns(defaults, _Docker.Network.Name(docker.network), network)


def _ports(docker: _Docker, network: str, resources: Resources) -> tuple[str, ...]:
    mappings = docker.port_mappings
    if mappings and network in ("host", "none"):
        raise DockerError("Port mappings are only supported for bridge and user-defined networks")
    offered = resources.ranges("ports")
    if mappings and not offered:
        raise DockerError("Port mappings require port resources")
    for mapping in mappings:
        if mapping.host_port not in offered:
            raise DockerError(f"Port [{mapping.host_port}] not included in resources")
    return tuple(
        f"{mapping.host_port}:{mapping.container_port}{f'/{mapping.protocol.lower()}' if mapping.protocol else ''}"
        for mapping in mappings
    )


def _volumes(container: mesos_pb2.ContainerInfo, sandbox: str) -> tuple[tuple[str, ...], str | None]:
    """All `-v` values, the sandbox last; and their driver."""
    drivers = {container.docker.volume_driver} - {""}
    volumes = []
    for volume in container.volumes:
        if volume.source.type == _Volume.Source.DOCKER_VOLUME and volume.HasField("source"):
            drivers |= {volume.source.docker_volume.driver} - {""}
            volumes.append(f"{volume.source.docker_volume.name}:{_place(volume)}:{_mode(volume)}")
        else:
            volumes.append(_host_volume(volume, sandbox, has_driver=bool(container.docker.volume_driver)))
    if len(drivers) > 1:
        raise DockerError("Only one volume driver is supported")
    return (*volumes, f"{sandbox}:{MAPPED_DIRECTORY}"), next(iter(drivers), None)


def _host_volume(volume: _Volume, sandbox: str, *, has_driver: bool) -> str:
    path = _host_path(volume)
    if not path:
        raise DockerError("Host path or volume source is required")
    if not os.path.isabs(path) and not os.path.isabs(volume.container_path):
        raise DockerError(f"Both host_path '{path}' and container_path '{volume.container_path}' are relative")
    if not os.path.isabs(path) and not has_driver:
        path = f"{sandbox}/{path}"
    return f"{path}:{_place(volume)}:{_mode(volume)}"


def _host_path(volume: _Volume) -> str:
    if not volume.HasField("source"):
        return volume.host_path
    if volume.source.type != _Volume.Source.HOST_PATH:
        raise DockerError(
            f"a volume of {_Volume.Source.Type.Name(volume.source.type)} at {volume.container_path} is not supported "
            "in Docker containers; HOST_PATH and DOCKER_VOLUME are"
        )
    return volume.source.host_path.path


def _place(volume: _Volume) -> str:
    path = volume.container_path
    return path if os.path.isabs(path) else f"{MAPPED_DIRECTORY}/{path}"


def _mode(volume: _Volume) -> str:
    return "ro" if volume.mode == _Volume.RO else "rw"


def _image(docker: _Docker) -> str:
    if not docker.image or docker.image.startswith("-") or "\0" in docker.image:
        raise DockerError(f"{docker.image!r} is no name of an image")
    return docker.image


def _gives_gpus(parameter: mesos_pb2.Parameter) -> bool:
    """Cards that the agent has not given: somebody else may have them, or get them."""
    key, value = parameter.key, parameter.value
    if key in ("env", "e"):
        return value.startswith("NVIDIA_VISIBLE_DEVICES")
    return key == "gpus" or (key in ("device", "runtime") and "nvidia" in value)


def _parameters(docker: _Docker, manages_gpus: bool) -> tuple[tuple[str, str], ...]:
    for parameter in docker.parameters:
        why = _REFUSED_PARAMETERS.get(parameter.key)
        if manages_gpus and _gives_gpus(parameter):
            why = "the agent gives the container the GPUs that it holds; ask for them by the resource gpus"
        if why is not None:
            raise DockerError(f"the parameter {parameter.key}={parameter.value} is not allowed: {why}")
    return tuple((parameter.key, parameter.value) for parameter in docker.parameters)

"""From a container's configuration to what supervision is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import Command, Prepared, View
from tfmesos.agent.isolators.secrets import environment_of
from tfmesos.agent.users import Identity
from tfmesos.supervision import SEARCH_PATH, Console, LogLimit, ProcessSpec
from tfmesos.wire import mesos_pb2

_SANDBOX = "MESOS_SANDBOX"
_DIRECTORY = "MESOS_DIRECTORY"


def process_spec(
    config: ContainerConfig,
    flags: AgentFlags,
    identity: Identity | None,
    *,
    environment: Mapping[str, str],
    record_dir: str | None,
    prepared: Prepared,
) -> ProcessSpec:
    """The program of a container, as that sees it; its files are the host's."""
    program = _program(config.command, prepared.view)
    return ProcessSpec(
        id=str(config.id),
        executable=program.executable,
        argv=program.argv,
        environment=environment,
        directory=config.working_directory or config.directory,
        stdout=f"{config.directory}/stdout",
        stderr=f"{config.directory}/stderr",
        uid=identity.uid if identity else None,
        gid=identity.gid if identity else None,
        groups=identity.groups if identity else (),
        cgroups=prepared.procs_files,
        cgroup_directories=prepared.directories,
        record_dir=record_dir,
        detached=config.checkpoint,
        mark=_SANDBOX if environment.get(_SANDBOX) == config.directory else None,
        recovery_timeout_s=flags.recovery_timeout,
        console=console(config),
        log_limit=_log_limit(flags),
    )


def _program(command: mesos_pb2.CommandInfo, view: View | None) -> Command:
    if view is not None and view.command is not None:
        return view.command
    if command.shell:
        return Command(executable="sh", argv=("sh", "-c", command.value))
    return Command(executable=command.value, argv=tuple(command.arguments))


def prepared_config(config: ContainerConfig, prepared: Prepared) -> ContainerConfig:
    """With what isolation adds to it; that is kept with it, since DEBUG containers have it, too, now or later."""
    view = prepared.view or View()
    added = {**view.environment, **config.environment, **prepared.environment}
    directory = view.working_directory or config.working_directory
    if (added, prepared.overrides, directory) == (config.environment, config.overrides, config.working_directory):
        return config
    return replace(config, environment=added, overrides=prepared.overrides, working_directory=directory)


def container_environment(
    config: ContainerConfig, flags: AgentFlags, parent: Mapping[str, str] | None
) -> Mapping[str, str]:
    """All variables of a container; `parent`: those of the container that a DEBUG one looks into (Mesos 1.11)."""
    environment = dict(parent or {})
    environment.update(config.environment)
    if parent is None:
        environment.update(_places(config, flags))
    environment.update(environment_of(config.command))
    environment.update(config.overrides)
    environment.setdefault("PATH", SEARCH_PATH)
    return environment


def _places(config: ContainerConfig, flags: AgentFlags) -> Mapping[str, str]:
    """Where a container sees its sandbox (Mesos 1.11: slave.cpp, executorEnvironment)."""
    seen = flags.sandbox_directory if config.has_image else config.directory
    return {name: seen for name in (_SANDBOX, _DIRECTORY) if name == _SANDBOX or name in config.environment}


def console(config: ContainerConfig) -> Console | None:
    """Mesos 1.11: only a container with a terminal, or a DEBUG one, can be attached to."""
    if config.container is not None and config.container.HasField("tty_info"):
        size = config.container.tty_info.window_size
        return Console(tty=True, rows=size.rows, columns=size.columns) if size.rows else Console(tty=True)
    return Console() if config.is_debug else None


def _log_limit(flags: AgentFlags) -> LogLimit | None:
    if flags.container_log_max_size is None:
        return None
    return LogLimit(max_bytes=flags.container_log_max_size, max_files=flags.container_log_max_files)

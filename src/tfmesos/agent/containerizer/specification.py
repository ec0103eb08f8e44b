"""From a container's configuration to what supervision is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import Prepared
from tfmesos.agent.users import Identity
from tfmesos.supervision import Console, LogLimit, ProcessSpec

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def process_spec(
    config: ContainerConfig,
    flags: AgentFlags,
    identity: Identity | None,
    *,
    environment: Mapping[str, str],
    directory: str,
    record_dir: str | None,
    prepared: Prepared,
) -> ProcessSpec:
    """The program of a container, which starts in `directory`."""
    command = config.command
    executable, argv = ("sh", ("sh", "-c", command.value)) if command.shell else (command.value, command.arguments)
    return ProcessSpec(
        id=str(config.id),
        executable=executable,
        argv=tuple(argv),
        environment=environment,
        directory=directory,
        stdout=f"{config.directory}/stdout",
        stderr=f"{config.directory}/stderr",
        uid=identity.uid if identity else None,
        gid=identity.gid if identity else None,
        groups=identity.groups if identity else (),
        cgroups=prepared.procs_files,
        cgroup_directories=prepared.directories,
        record_dir=record_dir,
        detached=config.checkpoint,
        mark="MESOS_SANDBOX" if environment.get("MESOS_SANDBOX") == config.directory else None,
        recovery_timeout_s=flags.recovery_timeout,
        console=console(config),
        log_limit=_log_limit(flags),
    )


def container_environment(config: ContainerConfig, parent: Mapping[str, str] | None) -> Mapping[str, str]:
    """All variables of a container; `parent`: those of the container that a DEBUG one looks into (Mesos 1.11)."""
    environment = dict(parent or {})
    environment.update(config.environment)
    if parent is None:
        environment["MESOS_SANDBOX"] = config.directory
    environment.update((variable.name, variable.value) for variable in config.command.environment.variables)
    environment.setdefault("PATH", DEFAULT_PATH)
    return environment


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

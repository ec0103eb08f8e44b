"""Containers of an OCI runtime.

<runtime_dir>/oci/                 mode 0700: environments may hold secrets
  state/<name>/                    the runtime's own
  trials/                          where the runtime is tried at the agent's start
  bundles/<name>/                  of a container: the directory that its starter runs in (bundle.py)

A name is the container's id, or made from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.runtimes import RunningNews
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.isolators import IsolationFailed, Limitation, Namespace, Node, Prepared, View
from tfmesos.agent.isolators.container_cgroups import lineage_of
from tfmesos.agent.oci import command
from tfmesos.agent.oci.bundle import has_host_root, has_last_hooks, is_container, pid_of, write_container, write_process
from tfmesos.agent.oci.finding import commands_of, find_program
from tfmesos.agent.oci.nodes import set_nodes
from tfmesos.agent.oci.rights import Rights
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.agent.uninterrupted import finish
from tfmesos.cgroups import guest_path
from tfmesos.supervision import ProcessSpec, Starter

_MODE = 0o700
_MAX_NAME = 200
_log = logging.getLogger(__name__)


class OciRuntime:
    """A ContainerRuntime. `find` makes it."""

    def __init__(self, program: str, directory: Path, cgroups_root: str, rights: Rights) -> None:
        """`directory` is absolute and this agent's alone."""
        self._cgroups_root = cgroups_root
        self._state = directory / "state"
        self._bundles = directory / "bundles"
        self._commands = commands_of(program, self._state)
        self._rights = rights

    @classmethod
    def find(cls, flags: AgentFlags, *, max_descriptors: int | None = None) -> OciRuntime:
        """The one that --oci_runtime names, or that works here. Raises BadAgentFlags with the remedy.

        `max_descriptors`: as of Supervisors.
        """
        rights = Rights.read(max_descriptors=max_descriptors)
        directory = flags.runtime_path / "oci"
        program = find_program(flags.oci_runtime, rights, directory=_fresh(directory / "trials"))
        return cls(program, directory, flags.cgroups_root, rights)

    async def prepare(self, config: ContainerConfig, prepared: Prepared, spec: ProcessSpec) -> ProcessSpec:
        """As ContainerRuntime."""
        name = name_of(config.id)
        try:
            argv = await finish(asyncio.to_thread(self._prepare, config, prepared, spec))
        except UnicodeError:
            raise LaunchFailed("a text of its command or environment is not UTF-8") from None
        except OSError as error:
            raise LaunchFailed(f"cannot make {error.filename}: {error.strerror}") from error
        bundle = self._bundles / name
        starter = Starter(
            argv=argv,
            pid_file=str(bundle / command.PID),
            log_file=str(bundle / command.LOG),
            console_socket=str(bundle / command.CONSOLE) if _has_terminal(spec) else None,
        )
        return replace(spec, starter=starter, epilogue=() if config.is_debug else self._commands.delete(name))

    async def wait_running(self, container_id: ContainerId) -> RunningNews | None:
        """As ContainerRuntime."""
        return None

    def statistics(self, container_id: ContainerId) -> None:
        """They are the supervisor's. See ContainerRuntime."""

    def kill(self, container_id: ContainerId, grace_s: float) -> bool:
        """As ContainerRuntime: the supervisor ends its processes as any others."""
        return False

    async def cleanup(self, container_id: ContainerId) -> Limitation | None:
        """As ContainerRuntime. The runtime itself is only asked where it has hooks to run: it takes its time."""
        name = name_of(container_id)
        if await asyncio.to_thread(has_last_hooks, self._bundles / name):
            await self._run(self._commands.delete(name))
        await asyncio.to_thread(self._remove, name)
        return None

    async def recover(
        self, known: Mapping[ContainerId, ContainerConfig], orphans: Mapping[ContainerId, ContainerConfig]
    ) -> None:
        """As ContainerRuntime."""
        expected = {name_of(container_id) for container_id in (*known, *orphans)}
        for name in await asyncio.to_thread(self._names):
            if name not in expected:
                await self._run(self._commands.delete(name))
                await asyncio.to_thread(self._remove, name)

    async def close(self) -> None:
        """As ContainerRuntime: nothing runs but what is awaited."""

    async def set_nodes(self, container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
        """Let the /dev of a container that runs have the wanted nodes, and not the absent ones. Idempotent.

        Nothing happens to one without an image, which sees the host's, and to one that has ended. Raises
        IsolationFailed.
        """
        if not wanted and not absent:
            return
        bundle = self._bundles / name_of(container_id)
        namespace = None if has_host_root(bundle) else self._open_namespace(container_id)
        if namespace is None:
            return
        try:
            await finish(asyncio.to_thread(set_nodes, namespace, wanted, absent))
        except OSError as error:
            raise IsolationFailed(f"cannot change the device nodes of container {container_id}: {error}") from error
        finally:
            os.close(namespace)

    def _prepare(self, config: ContainerConfig, prepared: Prepared, spec: ProcessSpec) -> tuple[str, ...]:
        bundle = self._bundles / name_of(config.id)
        for directory in (bundle.parent.parent, bundle.parent):
            directory.mkdir(mode=_MODE, parents=True, exist_ok=True)
        bundle.mkdir(mode=_MODE)
        if config.is_debug:
            around = self._container_around(config.id)
            steps = write_process(bundle, spec, self._bundles / around, self._rights)
            return self._commands.execute(around, steps, has_terminal=_has_terminal(spec))
        view = prepared.view or View()
        steps = write_container(
            bundle,
            spec,
            view,
            self._rights,
            root=config.root,
            cgroup=guest_path(self._cgroups_root, lineage_of(config.id)),
            namespaces=self._namespaces_around(config.id, view.shared),
        )
        return self._commands.run(bundle.name, steps, has_terminal=_has_terminal(spec))

    def _container_around(self, container_id: ContainerId) -> str:
        """The nearest one that is not DEBUG."""
        for item in container_id.lineage():
            name = name_of(item)
            if is_container(self._bundles / name):
                return name
        raise LaunchFailed("the container around it has ended")

    def _namespaces_around(self, container_id: ContainerId, shared: frozenset[Namespace]) -> Mapping[Namespace, str]:
        """Those of the container around it; of one on the host they are the agent's, which need no joining."""
        if not shared or container_id.parent is None:
            return {}
        pid = pid_of(self._bundles / name_of(container_id.parent))
        return {kind: f"/proc/{pid}/ns/{kind.value}" for kind in shared} if pid is not None else {}

    def _open_namespace(self, container_id: ContainerId) -> int | None:
        """A descriptor of its mount namespace; None if it has ended."""
        pid = pid_of(self._bundles / name_of(container_id))
        try:
            namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        if self._is_inside(container_id, pid):
            return namespace
        os.close(namespace)
        return None

    def _is_inside(self, container_id: ContainerId, pid: int | None) -> bool:
        """Whether the process is the container's, and not another one that was given its pid since."""
        cgroup = guest_path(self._cgroups_root, lineage_of(container_id))
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except OSError:
            return False
        return any(line.split(":", 2)[2] == cgroup for line in lines)

    def _names(self) -> set[str]:
        """Of all that has anything here."""
        return {name for directory in (self._state, self._bundles) for name in _entries(directory)}

    def _remove(self, name: str) -> None:
        for path in (self._state / name, self._bundles / name):
            try:
                remove_tree(str(path))
            except FileNotFoundError:
                continue
            except OSError as error:
                _log.warning("%s cannot be removed: %s", path, error)

    async def _run(self, argv: tuple[str, ...]) -> None:
        null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*argv, stdin=null, stdout=null, stderr=pipe)
        except OSError as error:
            _log.warning("%s cannot be run: %s", argv[0], error.strerror)
            return
        _, errors = await process.communicate()
        if process.returncode:
            _log.warning("%s: %s", " ".join(argv), errors.decode(errors="replace").strip())


def name_of(container_id: ContainerId) -> str:
    """What a runtime calls it: runc allows few characters, no option begins so, a file system allows 255 of them."""
    text = str(container_id)
    return text if re.fullmatch(r"[\w+][\w+.-]*", text, re.ASCII) and len(text) <= _MAX_NAME else _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _has_terminal(spec: ProcessSpec) -> bool:
    return spec.console is not None and spec.console.tty


def _fresh(directory: Path) -> Path:
    """An empty one, whatever an agent has left there that was killed. Raises BadAgentFlags."""
    try:
        directory.parent.mkdir(mode=_MODE, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            remove_tree(str(directory))
        directory.mkdir(mode=_MODE)
    except OSError as error:
        raise BadAgentFlags(f"--runtime_dir: cannot make {directory}: {error.strerror}") from error
    return directory


def _entries(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []

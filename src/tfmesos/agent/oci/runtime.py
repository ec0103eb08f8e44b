"""Containers of an OCI runtime.

<runtime_dir>/oci/                 mode 0700: environments may hold secrets
  state/<name>/                    the runtime's own
  bundles/<name>/                  of a container: the directory that its starter runs in
    config.json, process.json      what the runtime is told; of a DEBUG container, which joins another, the latter
    lower, upper, work             links to the directories of its overlay
    rootfs/                        where the host's root is mounted, if it has no image
    mounts/<number>/               where a source is mounted that must not be reached through links
    execute/                       where the program is mounted that gives another one its name
    pid, log                       by the runtime: of its first process; what went wrong

Nothing is mounted there as the host sees it. A name is the container's id, or made from it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
from collections.abc import Mapping, Set
from dataclasses import replace
from pathlib import Path

from tfmesos.agent.containerizer.config import ContainerConfig
from tfmesos.agent.containerizer.errors import LaunchFailed
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.containerizer.runtimes import RunningNews
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images import Root
from tfmesos.agent.isolators import IsolationFailed, Limitation, Mount, Namespace, Node, Prepared, View
from tfmesos.agent.isolators.container_cgroups import lineage_of
from tfmesos.agent.oci import command
from tfmesos.agent.oci.command import Steps
from tfmesos.agent.oci.config import Place, container_json, process_json
from tfmesos.agent.oci.finding import commands_of, find_program
from tfmesos.agent.oci.nodes import set_nodes
from tfmesos.agent.oci.rights import Rights
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.agent.uninterrupted import finish
from tfmesos.cgroups import guest_path
from tfmesos.supervision import ProcessSpec, Starter

_MODE = 0o700
_HOST_ROOT = "rootfs"
_MAX_NAME = 200
_OF_FILES = {"bind": "none", "overlay": "overlay"}
"""Types of mounts that show files, as mount(8) calls them."""
_EXECUTE = Path(__file__).parent / "execute"
"""Programs by the machine that they are for."""
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
        program = find_program(flags.oci_runtime, rights)
        return cls(program, flags.runtime_path / "oci", flags.cgroups_root, rights)

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
        if await asyncio.to_thread(self._has_last_hooks, name):
            await self._run(self._commands.delete(name))
        await asyncio.to_thread(self._remove, name)
        return None

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
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
        namespace = None if (bundle / _HOST_ROOT).exists() else self._open_namespace(container_id)
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
        spec, execute = _named(spec, bundle)
        if config.is_debug:
            around = self._container_around(config.id)
            container = (self._bundles / around / command.CONFIG).read_bytes()
            _write(bundle / command.PROCESS, process_json(spec, container, self._rights))
            return self._commands.execute(around, Steps(execute=execute), has_terminal=_has_terminal(spec))
        view = prepared.view or View()
        steps = _lay_out(bundle, config.root)
        mounts, beneath = _redirected(view.mounts, bundle)
        mounts, on_host = _split(mounts) if steps.is_host else (mounts, ())
        place = Place(
            rootfs=steps.rootfs,
            cgroup=guest_path(self._cgroups_root, lineage_of(config.id)),
            has_host_root=steps.is_host,
            namespaces=self._namespaces_around(config.id, view.shared),
        )
        found = container_json(spec, replace(view, mounts=mounts), place, self._rights)
        _write(bundle / command.CONFIG, found)
        steps = replace(steps, beneath=beneath, on_host=on_host, execute=execute)
        return self._commands.run(bundle.name, steps, has_terminal=_has_terminal(spec))

    def _container_around(self, container_id: ContainerId) -> str:
        """The nearest one that is not DEBUG."""
        for item in container_id.lineage():
            name = name_of(item)
            if (self._bundles / name / command.CONFIG).exists():
                return name
        raise LaunchFailed("the container around it has ended")

    def _namespaces_around(self, container_id: ContainerId, shared: frozenset[Namespace]) -> Mapping[Namespace, str]:
        """Those of the container around it; of one on the host they are the agent's, which need no joining."""
        if not shared or container_id.parent is None:
            return {}
        pid = self._pid_of(container_id.parent)
        return {kind: f"/proc/{pid}/ns/{kind.value}" for kind in shared} if pid is not None else {}

    def _pid_of(self, container_id: ContainerId) -> int | None:
        """Of the container's first process, as the runtime has written it."""
        try:
            return int((self._bundles / name_of(container_id) / command.PID).read_text())
        except (OSError, ValueError):
            return None

    def _open_namespace(self, container_id: ContainerId) -> int | None:
        """A descriptor of its mount namespace; None if it has ended."""
        pid = self._pid_of(container_id)
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

    def _has_last_hooks(self, name: str) -> bool:
        try:
            return b'"poststop"' in (self._bundles / name / command.CONFIG).read_bytes()
        except OSError:
            return False

    def _remove(self, name: str) -> None:
        for path in (self._state / name, self._bundles / name):
            try:
                remove_tree(str(path))
            except FileNotFoundError:
                continue
            except OSError as error:
                _log.warning("%s cannot be removed: %s", path, error)

    async def _run(self, argv: tuple[str, ...]) -> None:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, errors = await process.communicate()
        if process.returncode:
            _log.warning("%s: %s", " ".join(argv), errors.decode(errors="replace").strip())


def name_of(container_id: ContainerId) -> str:
    """What a runtime calls it: runc allows few characters, a file system 255 of them."""
    text = str(container_id)
    return text if re.fullmatch(r"[\w+.-]+", text, re.ASCII) and len(text) <= _MAX_NAME else _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _has_terminal(spec: ProcessSpec) -> bool:
    return spec.console is not None and spec.console.tty


def _lay_out(bundle: Path, root: Root | None) -> Steps:
    """Make what a bundle has of directories and links; how the root is made from it."""
    if root is None:
        (bundle / _HOST_ROOT).mkdir()
        return Steps(rootfs=str(bundle / _HOST_ROOT), is_host=True)
    if root.lower is None or root.upper is None or root.work is None:
        return Steps(rootfs=root.rootfs)
    for link, target in ((command.LOWER, root.lower), (command.UPPER, root.upper), (command.WORK, root.work)):
        (bundle / link).symlink_to(target)
    return Steps(rootfs=root.rootfs, is_overlay=True)


def _named(spec: ProcessSpec, bundle: Path) -> tuple[ProcessSpec, tuple[str, str] | None]:
    """Of a program whose name is not what is executed: what is executed in its place, and by which steps.

    A runtime takes argv[0] for both. (On a machine for which there is no such program the name is lost.)
    """
    program = _EXECUTE / os.uname().machine
    if not spec.argv or spec.executable in (None, spec.argv[0]) or not program.exists():
        return spec, None
    assert spec.executable is not None
    (bundle / "execute").mkdir()
    argv = (f"/proc/self/fd/{command.EXECUTE}", spec.executable, *spec.argv)
    return replace(spec, executable=None, argv=argv), (str(bundle / "execute"), str(program))


def _redirected(mounts: tuple[Mount, ...], bundle: Path) -> tuple[tuple[Mount, ...], tuple[tuple[str, str], ...]]:
    """The mounts, and what of their sources is mounted before, since it must be reached through no link."""
    found, beneath = [], []
    for number, mount in enumerate(mounts):
        if mount.beneath is not None:
            target = bundle / "mounts" / str(number)
            target.mkdir(parents=True)
            beneath.append((_real(mount.source, mount.beneath), str(target)))
            mount = replace(mount, source=str(target))
        found.append(mount)
    return tuple(found), tuple(beneath)


def _split(mounts: tuple[Mount, ...]) -> tuple[tuple[Mount, ...], tuple[tuple[str, str, str, str], ...]]:
    """Of a container with the host's root: what the runtime mounts, and what is mounted before.

    Those are volumes, whose mount points others may take away or replace by a link meanwhile: the runtime would make
    what is missing, on the host. What is mounted elsewhere then is so in the container only.
    """
    by_runtime = tuple(mount for mount in mounts if mount.type not in _OF_FILES)
    before = (mount for mount in mounts if mount.type in _OF_FILES)
    return by_runtime, tuple((_OF_FILES[one.type], _host_options(one), one.source, one.target) for one in before)


def _host_options(mount: Mount) -> str:
    """The namespace is the host's slave as it is."""
    return ",".join(option for option in mount.options if option != "rslave")


def _real(path: str, beneath: str) -> str:
    """Of a path in `beneath`, if no link is between the two."""
    return os.path.normpath(os.path.join(os.path.realpath(beneath), os.path.relpath(path, beneath)))


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)


def _entries(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []

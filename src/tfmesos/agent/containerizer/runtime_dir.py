"""What is kept of containers that may outlive the agent; of ours, with a format number.

<runtime_dir>/                            must survive a restart of the agent, but need not survive one of the machine
  agent.lock                              held by the running agent
  cgroups                                 where the containers' cgroups are (isolators/place.py)
  containers/<container id>/              mode 0700: a container's environment may hold secrets
    config                                its ContainerConfig, written before anything runs
    record.json, control.sock             supervision's
    containers/<nested container id>/     the same again
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from google.protobuf.message import DecodeError, Message

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind, RuntimeName
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.json_values import as_list, as_object, as_text
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.agent.uninterrupted import finish
from tfmesos.wire import mesos_pb2

FORMAT = 2
_SINCE_1: Mapping[str, object] = {
    "runtime": RuntimeName.HOST.name,
    "overrides": {},
    "working_directory": None,
    "checkpoint": True,
}
"""What format 1 had not."""
_MODE = 0o700
_CONFIG = "config"
_RECORD = "record.json"
_log = logging.getLogger(__name__)


class RuntimeDir:
    """The directories of the containers of one agent."""

    def __init__(self, path: Path) -> None:
        """`path` is absolute."""
        self._path = path
        self._lock: int | None = None
        self._there: set[ContainerId] = set()
        self._leaving: set[Path] = set()
        self._removing: asyncio.Future[None] | None = None

    def lock(self) -> None:
        """Hold it until `unlock`. Raises BadAgentFlags: two agents would end each other's containers."""
        try:
            (self._path / "containers").mkdir(mode=_MODE, parents=True, exist_ok=True)
            lock = os.open(self._path / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BadAgentFlags(f"--runtime_dir: cannot use {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise BadAgentFlags(f"--runtime_dir: another agent uses {self._path}; give this one its own") from None
        self._lock = lock

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def path_of(self, container_id: ContainerId) -> Path:
        """The directory of a container."""
        path = self._path
        for item in reversed(list(container_id.lineage())):
            path = path / "containers" / item.value
        return path

    async def add(self, config: ContainerConfig) -> str:
        """Make a container's directory. Raises OSError.

        The configuration is kept of one that outlives the agent, and of one whose end is a runtime's to see to.
        """
        self._there.update(config.id.lineage())
        if self.path_of(config.id) in self._leaving:
            await self.wait_removed()
        return await finish(asyncio.to_thread(self._add, config))

    def _add(self, config: ContainerConfig) -> str:
        path = self.path_of(config.id)
        os.makedirs(path, _MODE, exist_ok=True)
        if config.checkpoint or config.runtime is not RuntimeName.HOST:
            fresh = path / "config.new"
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "w") as file:
                file.write(json.dumps(_to_json(config)))
            os.replace(fresh, path / _CONFIG)
        return str(path)

    def remove(self, container_id: ContainerId) -> None:
        """Forget a container and all that was nested in it: soon, in a thread. Nothing to do where there is none."""
        if container_id not in self._there:
            return
        self._there.discard(container_id)
        self._leaving.add(self.path_of(container_id))
        if self._removing is None:
            self._remove_some()

    async def wait_removed(self) -> None:
        """Return when nothing of what was forgotten is left."""
        while self._removing is not None:
            await asyncio.wait([self._removing])

    def _remove_some(self) -> None:
        paths = list(self._leaving)
        self._removing = asyncio.get_running_loop().run_in_executor(None, _remove_all, paths)
        self._removing.add_done_callback(lambda _: self._removed(paths))

    def _removed(self, paths: Sequence[Path]) -> None:
        self._leaving.difference_update(paths)
        self._removing = None
        if self._leaving:
            self._remove_some()

    def load(self) -> Iterator[tuple[ContainerId, ContainerConfig]]:
        """All containers that are known here, parents first."""
        for container_id, config in self._load(None):
            self._there.add(container_id)
            yield container_id, config

    def _load(self, parent: ContainerId | None) -> Iterator[tuple[ContainerId, ContainerConfig]]:
        base = self._path if parent is None else self.path_of(parent)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(base / "containers")):
                container_id = ContainerId(name, parent)
                yield container_id, self._read(container_id) or _unknown(container_id)
                yield from self._load(container_id)

    def _read(self, container_id: ContainerId) -> ContainerConfig | None:
        path = self.path_of(container_id) / _CONFIG
        try:
            return _from_json(container_id, json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, DecodeError) as error:
            _log.warning("container %s: %s cannot be read: %s", container_id, path, error)
            return None


def _remove_all(paths: Sequence[Path]) -> None:
    for path in paths:
        try:
            _remove(str(path))
        except OSError as error:  # the next agent removes it
            _log.warning("%s cannot be removed: %s", path, error)


def _remove(path: str) -> None:
    """There is mostly nothing else in it, and each system call of a thread makes the event loop wait for its turn."""
    for name in (_CONFIG, _RECORD):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}/{name}")
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError:
        remove_tree(path)


def _unknown(container_id: ContainerId) -> ContainerConfig:
    """Of one whose configuration was not kept, or cannot be read."""
    return ContainerConfig(
        id=container_id, kind=ContainerKind.STANDALONE, command=mesos_pb2.CommandInfo(), directory="", checkpoint=False
    )


def _to_json(config: ContainerConfig) -> dict[str, object]:
    return {
        "format": FORMAT,
        "kind": config.kind.name,
        "command": _text(config.command),
        "directory": config.directory,
        "user": config.user,
        "container": None if config.container is None else _text(config.container),
        "resources": [_text(resource) for resource in config.resources],
        "environment": dict(config.environment),
        "is_debug": config.is_debug,
        "runtime": config.runtime.name,
        "overrides": dict(config.overrides),
        "working_directory": config.working_directory,
        "checkpoint": config.checkpoint,
    }


def _from_json(container_id: ContainerId, found: dict[str, object]) -> ContainerConfig:
    if found["format"] == 1:
        found = {**found, **_SINCE_1}
    elif found["format"] != FORMAT:
        raise ValueError(f"its format is {found['format']}, this agent reads {FORMAT}")
    return ContainerConfig(
        id=container_id,
        kind=ContainerKind[as_text(found["kind"])],
        command=mesos_pb2.CommandInfo.FromString(_bytes(found["command"])),
        directory=as_text(found["directory"]),
        user=as_text(found["user"]),
        container=None
        if found["container"] is None
        else mesos_pb2.ContainerInfo.FromString(_bytes(found["container"])),
        resources=tuple(mesos_pb2.Resource.FromString(_bytes(item)) for item in as_list(found["resources"])),
        environment=_texts(found["environment"]),
        is_debug=bool(found["is_debug"]),
        runtime=RuntimeName[as_text(found["runtime"])],
        overrides=_texts(found["overrides"]),
        working_directory=None if found["working_directory"] is None else as_text(found["working_directory"]),
        checkpoint=bool(found["checkpoint"]),
    )


def _text(message: Message) -> str:
    return base64.b64encode(message.SerializePartialToString()).decode()


def _bytes(value: object) -> bytes:
    return base64.b64decode(as_text(value))


def _texts(value: object) -> dict[str, str]:
    return {as_text(name): as_text(text) for name, text in as_object(value).items()}

"""One CDI specification: its text as data. Pure.

Edits that this agent does not know, and could not leave out without the container being another, are kept by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.isolators import Hook, Mount

_MAJORS = ("0", "1")
_ACCESSES = "rwm"
_FOREIGN = ("additionalGids", "intelRdt", "netDevices")
_STAGES = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
_T = TypeVar("_T")


class BadSpecification(GpuError):
    """A file is not a CDI specification, or of a version that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedNode:
    """A device node of the container; `host_path`: the machine's, which tells the device unless its numbers are given.

    `permissions`: of the cgroup, letters of rwm.
    """

    path: str
    host_path: str
    permissions: str = _ACCESSES
    type: str | None = None
    major: int | None = None
    minor: int | None = None
    mode: int | None = None
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """What a container gets. `foreign`: the names of edits that cannot be made here."""

    environment: tuple[str, ...] = ()
    nodes: tuple[EditedNode, ...] = ()
    mounts: tuple[Mount, ...] = ()
    hooks: tuple[Hook, ...] = ()
    foreign: tuple[str, ...] = ()

    def __add__(self, other: Edits) -> Edits:
        """Both, each entry once."""
        both = {
            item.name: tuple(dict.fromkeys([*getattr(self, item.name), *getattr(other, item.name)]))
            for item in fields(self)
        }
        return Edits(**both)


@dataclass(frozen=True, slots=True, kw_only=True)
class CdiDevice:
    """A device, and what a container with it gets."""

    name: str
    edits: Edits


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """`edits`: of every container with any of the devices."""

    kind: str
    devices: tuple[CdiDevice, ...]
    edits: Edits


def parse(value: object) -> Specification:
    """From its JSON or YAML, read. Raises BadSpecification."""
    whole = _mapping(value, "it")
    version = str(whole.get("cdiVersion", ""))
    if version.partition(".")[0] not in _MAJORS:
        raise BadSpecification(f"its cdiVersion is {version!r}; versions 0 and 1 are known")
    devices = tuple(
        CdiDevice(name=_text(device, "name"), edits=_edits(device.get("containerEdits")))
        for device in _mappings(whole, "devices")
    )
    return Specification(kind=_text(whole, "kind"), devices=devices, edits=_edits(whole.get("containerEdits")))


def _edits(value: object) -> Edits:
    edits = _mapping(value or {}, "containerEdits")
    return Edits(
        environment=_texts(edits, "env"),
        nodes=_all(edits, "deviceNodes", _node),
        mounts=_all(edits, "mounts", _mount),
        hooks=_all(edits, "hooks", _hook),
        foreign=tuple(name for name in _FOREIGN if edits.get(name)),
    )


def _node(node: Mapping[str, object]) -> EditedNode:
    path, permissions = _text(node, "path"), _text(node, "permissions", _ACCESSES)
    if not permissions or not set(permissions) <= set(_ACCESSES):
        raise BadSpecification(f"permissions is {permissions!r}: letters of {_ACCESSES} are wanted")
    return EditedNode(
        path=path,
        host_path=_text(node, "hostPath", path),
        permissions=permissions,
        type=_text(node, "type", "") or None,
        major=_number(node, "major"),
        minor=_number(node, "minor"),
        mode=_number(node, "fileMode"),
        uid=_number(node, "uid") or 0,
        gid=_number(node, "gid") or 0,
    )


def _mount(mount: Mapping[str, object]) -> Mount:
    return Mount(
        source=_text(mount, "hostPath"),
        target=_text(mount, "containerPath"),
        type=_text(mount, "type", "bind"),
        options=_texts(mount, "options") or ("rbind", "ro"),
    )


def _hook(hook: Mapping[str, object]) -> Hook:
    stage = _text(hook, "hookName")
    if stage not in _STAGES:
        raise BadSpecification(f"hookName is {stage!r}: {', '.join(_STAGES)} are known")
    return Hook(
        stage=stage,
        path=_text(hook, "path"),
        arguments=_texts(hook, "args"),
        environment=_texts(hook, "env"),
        timeout_s=_number(hook, "timeout"),
    )


def _all(edits: Mapping[str, object], name: str, parse_one: Callable[[Mapping[str, object]], _T]) -> tuple[_T, ...]:
    return tuple(parse_one(item) for item in _mappings(edits, name))


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise BadSpecification(f"{name} is no object")
    return value


def _mappings(edits: Mapping[str, object], name: str) -> tuple[Mapping[str, object], ...]:
    found = edits.get(name) or []
    if not isinstance(found, list):
        raise BadSpecification(f"{name} is no list")
    return tuple(_mapping(item, f"an item of {name}") for item in found)


def _text(value: Mapping[str, object], name: str, default: str | None = None) -> str:
    found = value.get(name, default)
    if not isinstance(found, str):
        raise BadSpecification(f"{name} is {found!r}: a text is wanted")
    return found


def _texts(value: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = value.get(name) or []
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise BadSpecification(f"{name} is no list of texts")
    return tuple(found)


def _number(value: Mapping[str, object], name: str) -> int | None:
    found = value.get(name)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
        raise BadSpecification(f"{name} is {found!r}: a number is wanted")
    return found

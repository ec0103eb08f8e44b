"""What an OCI runtime is told of a container: config.json and process.json (OCI runtime-spec 1.0.2: config.md). Pure.

A container has a mount namespace of its own and is otherwise as a program that the agent starts itself: the same
groups, umask and capabilities, no change of oom_score_adj, host name and network. (runc 1.1 adds HOME to an environment
that has none: what /etc/passwd of the container says, or `/`.) Rules of devices are those of the
cgroup above the one that the runtime makes, so the runtime allows all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tfmesos.agent.isolators.view import Capabilities, Hook, Mount, Namespace, Node, Rlimit, View
from tfmesos.agent.oci.rights import Rights
from tfmesos.supervision import ProcessSpec

_VERSION = "1.0.2"
_NOFILE = "RLIMIT_NOFILE"
_MAY = ("capabilities", "rlimits", "noNewPrivileges")
_Object = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a container is to be. `rootfs`: its root, once that is mounted; `cgroup`: in every tree, from the top.

    `has_host_root`: its root is the host's, and so its /dev. `namespaces`: paths of those that it joins.
    """

    rootfs: str
    cgroup: str
    has_host_root: bool
    namespaces: Mapping[Namespace, str] = field(default_factory=dict)


def container_json(spec: ProcessSpec, view: View, place: Place, rights: Rights) -> bytes:
    """config.json. Raises UnicodeError for texts that are not UTF-8."""
    config: _Object = {
        "ociVersion": _VERSION,
        "process": _process(spec, view, rights),
        "root": {"path": place.rootfs},
        "mounts": [_mount(mount) for mount in _mounts(view, place)],
        "linux": _linux(view, place),
    }
    if view.hooks:
        config["hooks"] = _hooks(view.hooks)
    return _encode(config)


def process_json(spec: ProcessSpec, container: bytes, rights: Rights) -> bytes:
    """process.json, of one more process of a container that runs, and whose config.json is `container`.

    It may no more than the container's first one. Raises UnicodeError for texts that are not UTF-8.
    """
    first = json.loads(container)["process"]
    return _encode(_process(spec, View(), rights) | {name: first[name] for name in _MAY})


def _process(spec: ProcessSpec, view: View, rights: Rights) -> _Object:
    process: _Object = {
        "user": _user(spec, rights),
        "args": _arguments(spec),
        "env": [f"{name}={value}" for name, value in spec.environment.items()],
        "cwd": spec.directory,
        "capabilities": _capabilities(view.capabilities, rights),
        "rlimits": _rlimits(view.rlimits, rights),
        "noNewPrivileges": view.no_new_privileges,
    }
    if spec.console is not None and spec.console.tty:
        process["terminal"] = True
        process["consoleSize"] = {"height": spec.console.rows, "width": spec.console.columns}
    return process


def _user(spec: ProcessSpec, rights: Rights) -> _Object:
    is_agent = spec.uid is None and spec.gid is None
    return {
        "uid": spec.uid or 0,
        "gid": spec.gid or 0,
        "umask": rights.umask,
        "additionalGids": list(rights.groups if is_agent else spec.groups),
    }


def _arguments(spec: ProcessSpec) -> list[str]:
    """The runtime looks for the first one in the container's PATH, and executes it as its own name."""
    executable = spec.argv[0] if spec.executable is None else spec.executable
    return [executable, *spec.argv[1:]]


def _capabilities(wanted: Capabilities | None, rights: Rights) -> _Object:
    """Of what is wanted, what the agent has itself. What another user than root is to have is ambient, too."""
    if wanted is None:
        effective, inheritable, bounding = rights.effective, rights.inheritable, rights.bounding
        ambient: frozenset[str] = frozenset()
    else:
        bounding = wanted.bounding & rights.bounding
        effective = inheritable = ambient = wanted.effective & bounding
    sets = {"effective": effective, "permitted": effective, "inheritable": inheritable}
    return {name: sorted(names) for name, names in {**sets, "bounding": bounding, "ambient": ambient}.items()}


def _rlimits(wanted: Iterable[Rlimit], rights: Rights) -> list[_Object]:
    """Programs of Go raise the limit of descriptors for themselves, and runc hands that on (Go 1.19)."""
    soft, hard = rights.descriptors
    limits = {_NOFILE: Rlimit(type=_NOFILE, hard=hard, soft=soft), **{limit.type: limit for limit in wanted}}
    return [{"type": limit.type, "hard": limit.hard, "soft": limit.soft} for limit in limits.values()]


def _mounts(view: View, place: Place) -> tuple[Mount, ...]:
    """A runtime puts nodes of its own into a /dev that is not bound."""
    return (Mount(source="/dev", target="/dev"), *view.mounts) if place.has_host_root else view.mounts


def _mount(mount: Mount) -> _Object:
    return {
        "destination": mount.target,
        "type": mount.type,
        "source": mount.source,
        "options": list(mount.options),
    }


def _linux(view: View, place: Place) -> _Object:
    """What the host mounts later is seen in a container (rslave); nothing that it mounts is seen by the host."""
    return {
        "namespaces": [{"type": "mount"}, *_namespaces(view.namespaces, place.namespaces)],
        "cgroupsPath": place.cgroup,
        "resources": {"devices": [{"allow": True, "access": "rwm"}]},
        "rootfsPropagation": "rslave",
        "maskedPaths": list(view.masked_paths),
        "readonlyPaths": list(view.readonly_paths),
        "devices": [] if place.has_host_root else [_node(node) for node in view.nodes],
    }


def _namespaces(new: frozenset[Namespace], joined: Mapping[Namespace, str]) -> list[_Object]:
    found: list[_Object] = [{"type": kind.value} for kind in Namespace if kind in new]
    return found + [{"type": kind.value, "path": path} for kind, path in joined.items() if kind not in new]


def _node(node: Node) -> _Object:
    return {
        "path": node.path,
        "type": node.type,
        "major": node.major,
        "minor": node.minor,
        "fileMode": node.mode,
        "uid": node.uid,
        "gid": node.gid,
    }


def _hooks(hooks: Sequence[Hook]) -> _Object:
    found: dict[str, list[_Object]] = {}
    for hook in hooks:
        found.setdefault(hook.stage, []).append(_hook(hook))
    return dict(found)


def _hook(hook: Hook) -> _Object:
    entry: _Object = {"path": hook.path, "args": list(hook.arguments), "env": list(hook.environment)}
    if hook.timeout_s is not None:
        entry["timeout"] = hook.timeout_s
    return entry


def _encode(found: _Object) -> bytes:
    return json.dumps(found, ensure_ascii=False).encode()

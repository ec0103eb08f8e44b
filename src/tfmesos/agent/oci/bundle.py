"""What is made for a container before its runtime starts: the files, directories and links of its bundle.

config.json, process.json      what the runtime is told; of a DEBUG container, which joins another, the latter
lower, upper, work             links to the directories of its overlay
rootfs/                        where the host's root is mounted, if it has no image
mounts/<number>/               where a source is mounted that must not be reached through links
execute/                       where the program is mounted that gives another one its name
pid, log                       by the runtime: of its first process; what went wrong

Nothing is mounted there as the host sees it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tfmesos.agent.images import Root
from tfmesos.agent.isolators import Mount, Namespace, View
from tfmesos.agent.oci import command
from tfmesos.agent.oci.command import Steps
from tfmesos.agent.oci.config import Place, container_json, process_json
from tfmesos.agent.oci.rights import Rights
from tfmesos.supervision import ProcessSpec

_HOST_ROOT = "rootfs"
_OF_FILES = {"bind": "none", "overlay": "overlay"}
"""Types of mounts that show files, as mount(8) calls them."""
_EXECUTE = Path(__file__).parent / "execute"
"""Programs by the machine that they are for."""


def write_container(
    bundle: Path,
    spec: ProcessSpec,
    view: View,
    rights: Rights,
    *,
    root: Root | None,
    cgroup: str,
    namespaces: Mapping[Namespace, str],
) -> Steps:
    """Of a new container: what is to be done before its runtime runs.

    `bundle` is an empty directory; `cgroup` and `namespaces` as in Place. Raises OSError, UnicodeError.
    """
    spec, execute = _named(spec, bundle)
    steps = _lay_out(bundle, root)
    mounts, beneath = _redirected(view.mounts, bundle)
    mounts, on_host = _split(mounts) if steps.is_host else (mounts, ())
    place = Place(rootfs=steps.rootfs, cgroup=cgroup, has_host_root=steps.is_host, namespaces=namespaces)
    _write(bundle / command.CONFIG, container_json(spec, replace(view, mounts=mounts), place, rights))
    return replace(steps, beneath=beneath, on_host=on_host, execute=execute)


def write_process(bundle: Path, spec: ProcessSpec, around: Path, rights: Rights) -> Steps:
    """The same of one that joins the container with the bundle `around`."""
    spec, execute = _named(spec, bundle)
    container = (around / command.CONFIG).read_bytes()
    _write(bundle / command.PROCESS, process_json(spec, container, rights))
    return Steps(execute=execute)


def is_container(bundle: Path) -> bool:
    """Whether it is one of a container that others can join."""
    return (bundle / command.CONFIG).exists()


def has_host_root(bundle: Path) -> bool:
    """Whether the container has no image."""
    return (bundle / _HOST_ROOT).exists()


def has_last_hooks(bundle: Path) -> bool:
    """Whether the runtime has something to run when the container has ended."""
    try:
        return b'"poststop"' in (bundle / command.CONFIG).read_bytes()
    except OSError:
        return False


def pid_of(bundle: Path) -> int | None:
    """Of the container's first process, as the runtime has written it."""
    try:
        return int((bundle / command.PID).read_text())
    except (OSError, ValueError):
        return None


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

"""The command lines of an OCI runtime. Pure.

A runtime runs in a mount namespace of its own, where a shell makes the container's root first, and becomes the runtime:
so no mount of a container is ever in the host's namespace, whoever is killed. Paths come as arguments of the shell, and
those of an overlay as links in the bundle, since mount(2) gives meanings to commas and colons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""For what is run here; starters have no other."""
PID, LOG, CONSOLE, CONFIG, PROCESS = "pid", "log", "console.sock", "config.json", "process.json"
"""Files of a bundle, which is the working directory."""
LOWER, UPPER, WORK = "lower", "upper", "work"
"""Links to the directories of an overlay."""

_IN_OWN_NAMESPACE = ("unshare", "--mount", "--propagation", "slave", "--", "sh", "-uc")
_FAILING = f"""fail() {{
    printf '{{"level":"error","msg":"%s"}}\\n' "$(printf %s "$*" | tr '"\\\\\\n' "'/ ")" >> {LOG}
    exit 1
}}
"""
"""As the runtime itself tells what went wrong."""
_LAYERS = f"lowerdir={LOWER},upperdir={UPPER},workdir={WORK}"
_OVERLAY = f"""text=$(mount -t overlay overlay -o {_LAYERS} "$1" 2>&1) || fail "$text"
shift
"""
_HOST = """text=$(mount --rbind / "$1" 2>&1) || fail "$text"
shift
"""
_BENEATH = """text=$(
    exec 2>&1
    cd -P "$1" || exit
    test "$(pwd -P)" = "$1" || { echo "$1: a link is in the way"; exit 1; }
    mount --no-canonicalize --rbind . "$2"
) || fail "$text"
shift 2
"""
"""What is mounted is where the shell has come to, not what the path leads to a moment later."""
_RUN = 'exec "$@"'


@dataclass(frozen=True, slots=True, kw_only=True)
class RootSteps:
    """How the root is made, on `rootfs`: an overlay, a view of the host's, or nothing if it is there already.

    `beneath`: directories that must be reached through no link, real paths, with where each is to be mounted.
    """

    rootfs: str
    is_overlay: bool = False
    is_host: bool = False
    beneath: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Those of one runtime, whose knowledge of its containers is in the directory `state`."""

    program: str
    state: str

    def run(self, name: str, steps: RootSteps, *, has_terminal: bool) -> tuple[str, ...]:
        """Make a container of the bundle in the working directory; it goes on when this has ended."""
        script, arguments = _root(steps)
        options = _console(has_terminal)
        runtime = (*self._program(), "--log", LOG, "--log-format", "json", "run", "--detach", "--pid-file", PID)
        return (*_IN_OWN_NAMESPACE, script + _RUN, "sh", *arguments, *runtime, *options, "--bundle", ".", name)

    def execute(self, name: str, *, has_terminal: bool) -> tuple[str, ...]:
        """Start the process of the bundle's process.json in a container that runs."""
        runtime = (*self._program(), "--log", LOG, "--log-format", "json", "exec", "--detach", "--pid-file", PID)
        return (*runtime, *_console(has_terminal), "--process", PROCESS, name)

    def delete(self, name: str) -> tuple[str, ...]:
        """End what is left of a container and forget it; nothing to do if it is not known."""
        return (*self._program(), "delete", "--force", name)

    def _program(self) -> tuple[str, ...]:
        """Without rootless=true runc fails where the cgroup above has rules of devices.

        (runc 1.1: opencontainers/runc libcontainer/cgroups/fs/fs.go: version 1 lets no cgroup allow all below one that
        does not; with it, just that failure is ignored.)
        """
        return (self.program, "--root", self.state, "--rootless=true")


def _root(steps: RootSteps) -> tuple[str, tuple[str, ...]]:
    script, arguments = _FAILING, []
    if steps.is_overlay or steps.is_host:
        script += _OVERLAY if steps.is_overlay else _HOST
        arguments.append(steps.rootfs)
    for source, target in steps.beneath:
        script += _BENEATH
        arguments += [source, target]
    return script, tuple(arguments)


def _console(has_terminal: bool) -> Iterable[str]:
    """By a name relative to the bundle: the path of a socket must be short."""
    return ("--console-socket", CONSOLE) if has_terminal else ()

"""The command lines of an OCI runtime. Pure.

A runtime runs in a mount namespace of its own, where a shell makes the container's root first, and becomes the runtime:
so no mount of a container is ever in the host's namespace, whoever is killed. Paths come as arguments of the shell, and
those of an overlay as links in the bundle, since mount(2) gives meanings to commas and colons.
"""

from __future__ import annotations

from dataclasses import dataclass

PID, LOG, CONSOLE, CONFIG, PROCESS = "pid", "log", "console.sock", "config.json", "process.json"
"""Files of a bundle, which is the working directory."""
EXECUTE = 3
"""The descriptor by which a program comes that is executed in place of a container's own."""
LOWER, UPPER, WORK = "lower", "upper", "work"
"""Links to the directories of an overlay."""

_IN_OWN_NAMESPACE = ("--mount", "--propagation", "slave", "--", "/bin/sh", "-uc")
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
_ON_HOST = """text=$(mount -t "$1" -o "$2" "$3" "$4" 2>&1) || fail "$text"
shift 4
"""
"""mount(8) makes no mount point, other than a runtime, whose root is the host's own tree here."""
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
_EXECUTE = f"""text=$(
    exec 2>&1
    mount -t tmpfs -o mode=755 tmpfs "$1" && cp "$2" "$1/execute" && chmod 755 "$1/execute"
) || fail "$text"
exec {EXECUTE}< "$1/execute"
shift 2
"""
"""The bundle may be where nothing can be executed."""
_RUN = 'exec "$@"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What is done before the runtime runs.

    `beneath`: directories that must be reached through no link, real paths, with where each is to be mounted.
    `on_host`: what is mounted where the host has it, before its root is viewed: type, options, source, target.
    `rootfs`: where the root is to be made, if it is an overlay or a view of the host's. `execute`: an empty directory,
    and the file of the program that comes by the descriptor EXECUTE.
    """

    rootfs: str = ""
    is_overlay: bool = False
    is_host: bool = False
    beneath: tuple[tuple[str, str], ...] = ()
    on_host: tuple[tuple[str, str, str, str], ...] = ()
    execute: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Those of one runtime, whose knowledge of its containers is in the directory `state`; all by whole paths."""

    program: str
    unshare: str
    state: str

    def run(self, name: str, steps: Steps, *, has_terminal: bool) -> tuple[str, ...]:
        """Make a container of the bundle in the working directory; it goes on when this has ended."""
        options = _options(steps, has_terminal=has_terminal)
        return self._after(steps, (*self._logging(), "run", *options, "--bundle", ".", name))

    def run_to_end(self, name: str, steps: Steps) -> tuple[str, ...]:
        """The same, until it has ended; nothing of it is left then, also if whoever asked for it is lost."""
        return self._after(steps, (*self._logging(), "run", "--bundle", ".", name))

    def execute(self, name: str, steps: Steps, *, has_terminal: bool) -> tuple[str, ...]:
        """Start the process of the bundle's process.json in a container that runs."""
        options = _options(steps, has_terminal=has_terminal)
        return self._after(steps, (*self._logging(), "exec", *options, "--process", PROCESS, name))

    def delete(self, name: str) -> tuple[str, ...]:
        """End what is left of a container and forget it; nothing to do if it is not known."""
        return (*self._program(), "delete", "--force", name)

    def _after(self, steps: Steps, runtime: tuple[str, ...]) -> tuple[str, ...]:
        if steps == Steps():
            return runtime
        script, arguments = _script(steps)
        return (self.unshare, *_IN_OWN_NAMESPACE, script, "sh", *arguments, *runtime)

    def _logging(self) -> tuple[str, ...]:
        return (*self._program(), "--log", LOG, "--log-format", "json")

    def _program(self) -> tuple[str, ...]:
        """Without rootless=true runc fails where the cgroup above has rules of devices.

        (runc 1.1: opencontainers/runc libcontainer/cgroups/fs/fs.go: version 1 lets no cgroup allow all below one that
        does not; with it, just that failure is ignored.)
        """
        return (self.program, "--root", self.state, "--rootless=true")


def _script(steps: Steps) -> tuple[str, list[str]]:
    """With its arguments."""
    script, arguments = _FAILING, []
    for source, target in steps.beneath:
        script += _BENEATH
        arguments += [source, target]
    for mount in steps.on_host:
        script += _ON_HOST
        arguments += mount
    if steps.is_overlay or steps.is_host:
        script += _OVERLAY if steps.is_overlay else _HOST
        arguments.append(steps.rootfs)
    if steps.execute is not None:
        script += _EXECUTE
        arguments += steps.execute
    return script + _RUN, arguments


def _options(steps: Steps, *, has_terminal: bool) -> tuple[str, ...]:
    """The socket by a name relative to the bundle: its path must be short."""
    console = ("--console-socket", CONSOLE) if has_terminal else ()
    inherited = ("--preserve-fds", "1") if steps.execute is not None else ()
    return ("--detach", "--pid-file", PID, *console, *inherited)

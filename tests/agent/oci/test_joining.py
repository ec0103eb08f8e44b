"""Containers that join others: DEBUG ones, and nested ones with namespaces in common."""

from __future__ import annotations

import os
import signal

import pytest

from tests.agent.oci.conftest import IMAGE_MOUNTS, Containers
from tests.agent.oci.seen import cgroups_of, namespace_of
from tests.agent.waiting import eventually
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerId, LaunchFailed
from tfmesos.agent.images import Root
from tfmesos.agent.isolators import Capabilities, Mount, Namespace, Rlimit, View
from tfmesos.supervision import Console

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

C = ContainerId("c")
IMAGE = View(mounts=IMAGE_MOUNTS)
TERMINAL = Console(tty=True, rows=33, columns=101)
OWN = frozenset({Namespace.PID, Namespace.IPC})


async def test_a_debug_container_is_in_the_view_of_the_one_around_it(containers: Containers, root: Root) -> None:
    around = await containers.start("sh", "-c", "touch /made; sleep 1000", root=root, view=IMAGE)
    script = "while [ ! -e /made ]; do sleep 0.01; done; sleep 1000"
    debug = await containers.start("sh", "-c", script, name="d", parent=C, is_debug=True)
    for kind in ("mnt", "pid", "ipc", "net", "uts"):
        assert namespace_of(debug.task_pid, kind) == namespace_of(around.task_pid, kind)


async def test_a_debug_container_ends_alone(containers: Containers, root: Root) -> None:
    around = await containers.start("sleep", "1000", root=root, view=IMAGE)
    debug = await containers.start("sh", "-c", "sleep 1000 & sleep 1000", name="d", parent=C, is_debug=True)
    debug.kill(0.0)
    termination = await debug.wait()
    assert (termination.wait_status, termination.killed) == (signal.SIGTERM, True)
    await containers.end("d", C)
    assert around.termination is None
    os.kill(around.task_pid or 0, 0)


async def test_a_debug_container_has_an_end_of_its_own(containers: Containers, root: Root) -> None:
    await containers.start("sleep", "1000", root=root, view=IMAGE)
    debug = await containers.start(
        "sh", "-c", "echo $0 $A; exit 7", "ü", name="d", parent=C, is_debug=True, environment={"PATH": "/bin", "A": "b"}
    )
    assert (await debug.wait()).wait_status == 7 << 8
    assert containers.output("d") == "ü b\n"


async def test_a_debug_container_may_no_more_than_the_one_around_it(containers: Containers, root: Root) -> None:
    # given a container with few rights
    few = Capabilities(effective=frozenset({"CAP_CHOWN"}), bounding=frozenset({"CAP_CHOWN", "CAP_KILL"}))
    files = Rlimit(type="RLIMIT_NOFILE", hard=100, soft=50)
    view = View(mounts=IMAGE_MOUNTS, capabilities=few, rlimits=(files,), no_new_privileges=True)
    script = "grep -E '^(Cap.*|NoNewPrivs):' /proc/self/status; ulimit -Hn"
    await containers.start("sh", "-c", f"{script}; sleep 1000", root=root, view=view)
    # when another program runs in it
    debug = await containers.start("sh", "-c", script, name="d", parent=C, is_debug=True)
    await debug.wait()
    # then it has the same
    await eventually(lambda: containers.output("c").endswith("100\n"))
    assert containers.output("d") == containers.output("c")
    lines = containers.output("d").splitlines()
    assert lines[1:] == [
        "CapPrm:\t0000000000000001",
        "CapEff:\t0000000000000001",
        "CapBnd:\t0000000000000021",
        "CapAmb:\t0000000000000001",
        "NoNewPrivs:\t1",
        "100",
    ]


async def test_a_debug_container_may_have_a_terminal(containers: Containers, root: Root) -> None:
    await containers.start("sleep", "1000", root=root, view=IMAGE)
    script = "stty size; test -t 0 && test -t 2 && echo is a terminal; read line; echo got $line"
    debug = await containers.start("sh", "-c", script, name="d", parent=C, is_debug=True, console=TERMINAL)
    async with await debug.console(input=True) as stream:
        await stream.write_stdin("ü\n".encode())
    assert (await debug.wait()).wait_status == 0
    shown = containers.output("d").splitlines()
    shown.remove("ü")  # the terminal echoes it when it comes
    assert shown == ["33 101", "is a terminal", "got ü"]


async def test_there_is_no_debugging_of_what_has_ended(containers: Containers, flags: AgentFlags) -> None:
    await containers.start("sleep", "1000", view=View())
    (flags.runtime_path / "oci/bundles/c/config.json").unlink()
    with pytest.raises(LaunchFailed, match="the container around it has ended"):
        await containers.start("true", name="d", parent=C, is_debug=True)


async def test_a_container_may_have_processes_of_its_own_only(containers: Containers, root: Root) -> None:
    view = View(mounts=IMAGE_MOUNTS, namespaces=OWN)
    await containers.run("sh", "-c", "echo $$; ls -d /proc/[0-9]*", root=root, view=view)
    assert containers.output().split()[:2] == ["1", "/proc/1"]


async def test_a_nested_container_may_share_the_namespaces_of_the_one_around_it(
    containers: Containers, root: Root
) -> None:
    around = await containers.start("sleep", "1000", root=root, view=View(mounts=IMAGE_MOUNTS, namespaces=OWN))
    proc = Mount(source="proc", target="/proc", type="proc", options=("nosuid",))
    nested = await containers.start("sleep", "1000", name="n", parent=C, view=View(mounts=(proc,), shared=OWN))
    for kind in ("pid", "ipc"):
        assert namespace_of(nested.task_pid, kind) == namespace_of(around.task_pid, kind)
    assert namespace_of(nested.task_pid, "mnt") != namespace_of(around.task_pid, "mnt")
    assert all(path.endswith("/c/mesos/n/oci") for path in cgroups_of(nested.task_pid))

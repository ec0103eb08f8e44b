"""Containers with an image, and those that see less than the host has, by a containerizer as agents have it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output, touch
from tests.agent.waiting import eventually
from tests.cgroup_trees import cgroups_below, containers_below
from tests.images import File, busybox_image, saved_v1_archive
from tfmesos.agent import AgentFlags
from tfmesos.agent.assembly import build_containerizer
from tfmesos.agent.containerizer import (
    Container,
    ContainerConfig,
    ContainerId,
    Containerizer,
    ContainerKind,
    LaunchFailed,
    RuntimeName,
)
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.metrics import Metrics
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

Restart = Callable[[], Awaitable[Containerizer]]
SANDBOX = "/mnt/mesos/sandbox"


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry that holds `box`, whose author has set all that can be."""
    folder = tmp_path_factory.mktemp("archives")
    image = busybox_image(
        {"etc/told": File(content=b"by the image\n")},
        environment=("PATH=/bin", "ALL=image", "TWO=image", "ONE=image"),
        working_directory="/etc",
    )
    saved_v1_archive(folder / "box:latest.tar", image, "box:latest")
    return folder


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def flags(flags: AgentFlags, archives: Path, store: Path, cgroups_root: str) -> AgentFlags:
    return dataclasses.replace(
        flags,
        cgroups_root=cgroups_root,
        image_providers=("DOCKER",),
        docker_registry=str(archives),
        docker_store_dir=str(store),
        isolation="filesystem/linux,docker/runtime,namespaces/pid",
    )


@pytest.fixture
async def restart(flags: AgentFlags) -> AsyncIterator[Restart]:
    """Ends the agent before, if there was one, as SIGTERM does, and starts the next."""
    async with AsyncExitStack() as running:

        async def start() -> Containerizer:
            await running.aclose()
            containerizer = await build_containerizer(flags, Metrics())
            running.push_async_callback(containerizer.close)
            await containerizer.start()
            return containerizer

        yield start
        last = await start()
        await last.recover([])
        await last.close(end_detached=True)
        assert left_of(flags) == []


def left_of(flags: AgentFlags) -> list[str]:
    """What there is of containers, in all places where agents have something of them."""
    places = (
        flags.runtime_path / "containers",
        flags.runtime_path / "oci/bundles",
        flags.runtime_path / "oci/state",
        Path(flags.work_dir, "provisioner/containers"),
    )
    found = [str(path) for place in places if place.exists() for path in place.iterdir()]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if flags.work_dir in line]
    return [*found, *mounts, *(str(path) for path in cgroups_below(flags.cgroups_root))]


def with_image(name: str = "box") -> mesos_pb2.ContainerInfo:
    container = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    container.mesos.image.type = mesos_pb2.Image.DOCKER
    container.mesos.image.docker.name = name
    return container


async def run(containerizer: Containerizer, config: ContainerConfig) -> Container:
    container = await containerizer.launch(config)
    await container.open_gate()
    return container


async def status_of(container: Container) -> int | None:
    async with asyncio.timeout(20):
        return (await container.wait()).wait_status


def looking_into(container: Container, line: str, name: str) -> ContainerConfig:
    return ContainerConfig(
        id=ContainerId(name, container.id),
        kind=ContainerKind.NESTED,
        command=mesos_pb2.CommandInfo(value=line),
        directory="",
        is_debug=True,
    )


async def test_a_container_has_its_image_its_sandbox_and_the_environment_of_all_who_have_a_say(
    restart: Restart, configure: Configure
) -> None:
    # given an image, an agent and a command that all have variables
    containerizer = await restart()
    line = f"cat told; echo $ALL $TWO $ONE $MESOS_SANDBOX $MESOS_DIRECTORY $$; echo written > {SANDBOX}/file; exit 7"
    config = configure(
        line, container=with_image(), environment={"ALL": "agent", "TWO": "agent", "MESOS_DIRECTORY": "x"}
    )
    config.command.environment.variables.add(name="ALL", value="command")
    # when it runs
    container = await run(containerizer, config)
    # then each is there, and what is written is in the sandbox
    assert await status_of(container) == 7 << 8
    assert output(container).splitlines() == ["by the image", f"command agent image {SANDBOX} {SANDBOX} 1"]
    assert output(container, "file") == "written\n"


async def test_what_is_plain_stays_so(restart: Restart, configure: Configure, flags: AgentFlags) -> None:
    """Only namespaces/pid makes a container of everything; without it nothing stands between an agent and a task."""
    flags = dataclasses.replace(flags, isolation="filesystem/linux,docker/runtime")
    containerizer = await build_containerizer(flags, Metrics())
    await containerizer.start()
    runtimes = {}
    volumes = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)
    volumes.volumes.add(mode=mesos_pb2.Volume.RO, container_path="/mnt", host_path="/usr/share")
    for name, container in (("plain", None), ("image", with_image()), ("volume", volumes)):
        made = await run(containerizer, configure("true", name, container=container))
        await status_of(made)
        runtimes[name] = made.config.runtime
    await containerizer.close(end_detached=True)
    assert runtimes == {"plain": RuntimeName.HOST, "image": RuntimeName.OCI, "volume": RuntimeName.OCI}


async def test_who_looks_into_a_container_sees_what_it_sees_also_under_the_next_agent(
    restart: Restart, configure: Configure
) -> None:
    # given a container that outlives its agent
    line = f"echo here > /mine; while [ ! -e {SANDBOX}/go ]; do sleep 0.01; done; exit 5"
    config = configure(line, container=with_image(), checkpoint=True)
    config.command.environment.variables.add(name="ALL", value="command")
    containerizer = await restart()
    container = await run(containerizer, config)
    for name in ("now", "later"):
        # when somebody looks into it
        looking = await run(containerizer, looking_into(container, "cat /mine told; echo $ALL $TWO; exit 3", name))
        # then there is its file system, its directory and its environment
        assert await status_of(looking) == 3 << 8
        assert output(looking).splitlines() == ["here", "by the image", "command image"]
        # and under the next agent, too
        if name == "now":
            containerizer = await restart()
            container = (await containerizer.recover([config.id]))[config.id]
    touch(container, "go")
    assert await status_of(container) == 5 << 8
    containerizer.forget(config.id)


async def test_a_terminal_in_an_image(restart: Restart, configure: Configure) -> None:
    # given a container with a terminal
    info = with_image()
    info.tty_info.window_size.rows, info.tty_info.window_size.columns = 30, 99
    containerizer = await restart()
    container = await containerizer.launch(configure("read line; stty size; echo got $line; exit 4", container=info))
    # when somebody types
    async with await container.attach(input=True) as console:
        await container.open_gate()
        await console.write_stdin(b"hello\n")
        said = b"".join([data async for _, data in console])
    # then the program hears it, and what it says is heard and kept
    assert await status_of(container) == 4 << 8
    assert said.splitlines() == [b"hello", b"30 99", b"got hello"]
    assert output(container).splitlines() == ["hello", "30 99", "got hello"]


@pytest.mark.parametrize("outer", [None, "box"])
async def test_what_is_nested_has_an_image_of_its_own_or_none(
    restart: Restart, configure: Configure, outer: str | None
) -> None:
    # given a container with an image, or without
    containerizer = await restart()
    around = await run(containerizer, configure("sleep 1000", container=with_image(outer) if outer else None))
    # when others are made in it
    line = "cat /etc/told && test -d $MESOS_SANDBOX"
    own = await run(containerizer, configure(line, "own", parent=around.id, container=with_image()))
    none = await run(
        containerizer, configure(f"test ! -e /etc/told && test -d '{Path.cwd()}'", "none", parent=around.id)
    )
    # then each has what it says, and ends with what is around it
    assert (await status_of(own), await status_of(none)) == (0, 0)
    again = await run(containerizer, configure("sleep 1000", "again", parent=around.id, container=with_image()))
    around.kill(0.0)
    assert await status_of(around) is not None
    assert again.termination is not None


async def test_an_image_that_cannot_be_had_is_told_and_nothing_is_left(
    restart: Restart, configure: Configure, flags: AgentFlags
) -> None:
    containerizer = await restart()
    with pytest.raises(LaunchFailed, match=r"Failed to pull image 'nobody' from directory .*: Failed to find archive"):
        await containerizer.launch(configure("true", container=with_image("nobody")))
    await containerizer.close()
    assert left_of(flags) == []


async def test_a_file_that_cannot_be_executed_counts_as_exit_status_1(restart: Restart, configure: Configure) -> None:
    config = configure("", container=with_image())
    config.command.shell, config.command.value = False, "nope"
    container = await run(await restart(), config)
    assert await status_of(container) == 1 << 8
    assert "cannot execute 'nope'" in output(container, "stderr")


async def test_launches_that_are_given_up_at_any_moment_leave_nothing(
    restart: Restart, configure: Configure, flags: AgentFlags
) -> None:
    containerizer = await restart()
    await status_of(await run(containerizer, configure("true", "first", container=with_image())))
    containerizer.forget(ContainerId("first"))
    before = left_of(flags)
    for number in range(12):
        # given a launch
        config = configure("sleep 1000", f"c{number}", container=with_image())
        launch = asyncio.create_task(run(containerizer, config))
        await asyncio.sleep(number * 0.008)
        # when it is given up
        container = containerizer.find(config.id)
        if container is None:
            containerizer.abort(config.id)
        else:
            container.kill(0.0)
        with_end = (await asyncio.gather(launch, return_exceptions=True))[0]
        # then nothing is left
        assert isinstance(with_end, Container | LaunchFailed)
        if isinstance(with_end, Container):
            await status_of(with_end)
            containerizer.forget(config.id)
    assert await eventually(lambda: left_of(flags) == before)


async def test_a_grace_is_a_grace(restart: Restart, configure: Configure) -> None:
    line = "trap 'echo asked; exit 9' TERM; echo ready; while true; do sleep 0.01; done"
    container = await run(await restart(), configure(line, container=with_image()))
    assert await eventually(lambda: "ready" in output(container))
    container.kill(30.0)
    assert await status_of(container) == 9 << 8
    assert "asked" in output(container)


async def test_an_agent_that_could_not_end_what_the_one_before_has_made_does_not_start(
    restart: Restart, configure: Configure, flags: AgentFlags
) -> None:
    containerizer = await restart()
    container = await run(containerizer, configure("sleep 1000", container=with_image(), checkpoint=True))
    await containerizer.close()
    plain = Containerizer(dataclasses.replace(flags, isolation="filesystem/posix", image_providers=()), Supervisors())
    await plain.start()
    with pytest.raises(BadAgentFlags, match=f"container {container.id} of the agent before is of an OCI runtime"):
        await plain.recover([container.id])
    await plain.close()


async def test_who_has_lost_its_agent_for_good_leaves_nothing_that_runs_or_is_mounted(
    flags: AgentFlags, restart: Restart
) -> None:
    # given an agent with a container
    agent, _ = agent_process(flags, "ends")
    # when it is killed, and nobody comes in its place
    agent.kill()
    agent.communicate()
    # then what the runtime has of it goes, too
    assert await eventually(lambda: not containers_below(flags.cgroups_root))
    assert await eventually(lambda: not list((flags.runtime_path / "oci/state").iterdir()))


@pytest.mark.parametrize("what", ["agent", "agent and supervisor", "agent, fork server and supervisor", "fork server"])
async def test_the_next_agent_finds_or_ends_what_is_left(flags: AgentFlags, restart: Restart, what: str) -> None:
    # given an agent with a container that outlives it
    agent, supervisor = agent_process(flags, "stays")
    # when some of them are lost in one moment
    lost = {"agent": agent.pid, "fork server": parent_of(supervisor), "supervisor": supervisor}
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (pid for name, pid in lost.items() if name in what):
            os.kill(pid, number)
    agent.kill()
    agent.communicate()
    # then the next agent knows what has become of it
    container_id = ContainerId("c")
    container = (await (await restart()).recover([container_id]))[container_id]
    if "supervisor" not in what:
        assert container.termination is None
        container.kill(30.0)
    assert await status_of(container) == (None if "supervisor" in what else 3 << 8)


def agent_process(flags: AgentFlags, fate: str) -> tuple[subprocess.Popen[bytes], int]:
    """A process that runs one container; with the pid of that one's supervisor."""
    program = Path(__file__).with_name("lost_agent.py")
    words = [sys.executable, str(program), json.dumps(dataclasses.asdict(flags)), fate]
    agent = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert agent.stdout is not None
    return agent, int(agent.stdout.readline())


async def test_the_first_process_of_a_namespace_heeds_sigterm_as_any_other(
    restart: Restart, configure: Configure
) -> None:
    container = await run(await restart(), configure("echo ready; exec sleep 1000", container=with_image()))
    assert await eventually(lambda: output(container) == "ready\n")
    container.kill(1000.0)
    assert await status_of(container) == signal.SIGTERM


@pytest.mark.parametrize("image", ["box", None])
async def test_the_supervisor_and_the_fork_server_are_lost(
    restart: Restart, configure: Configure, image: str | None
) -> None:
    """What ends the container then is its cgroup; the runtime's traces go, too (the fixture looks)."""
    containerizer = await restart()
    container = await run(
        containerizer, configure("(setsid sleep 1000 &); sleep 1000", container=with_image(image) if image else None)
    )
    lost = (parent_of(container.pid), container.pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in lost:
            os.kill(pid, number)
    assert await status_of(container) is None
    containerizer.forget(container.id)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_a_user_is_the_same_in_an_image_and_owns_what_it_writes(
    flags: AgentFlags, configure: Configure, tmp_path: Path
) -> None:
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    containerizer = await build_containerizer(dataclasses.replace(flags, switch_user=True), Metrics())
    await containerizer.start()
    line = f"echo $(id -u):$(id -g); cat told; touch {SANDBOX}/mine; touch /tmp/mine; exit 2"
    container = await run(containerizer, configure(line, container=with_image(), user="nobody"))
    status = await status_of(container)
    owners = {entry.name: entry.stat().st_uid for entry in os.scandir(container.directory)}
    await containerizer.close(end_detached=True)
    assert (status, output(container)) == (2 << 8, "65534:65534\nby the image\n")
    assert owners == {"stdout": 65534, "stderr": 65534, "mine": 65534}

"""Containers of a Docker engine over restarts: of the agent, and of the engine."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.agent.docker.conftest import IMAGE, Configure, containerizer_of, output
from tests.agent.waiting import eventually
from tests.dockerd import Dockerd, StartDockerd
from tests.images import busybox_image
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, Containerizer
from tfmesos.agent.containerizer.config import RuntimeName
from tfmesos.agent.docker import DockerRuntime
from tfmesos.agent.docker.client import DockerClient
from tfmesos.agent.docker.looks import exec_command
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.supervision import process_start_time

pytestmark = pytest.mark.root


async def start(containerizer: Containerizer, config: ContainerConfig) -> Container:
    """Until the engine says that it runs."""
    container = await containerizer.launch(config)
    await container.open_gate()
    assert await container.wait_running() is not None
    return container


def run_beside(engine: Dockerd, name: str, sandbox: str) -> None:
    """As an agent before has left it."""
    volume = f"{sandbox}:/mnt/mesos/sandbox"
    engine.run("run", "--detach", "--net=host", "--name", name, "--volume", volume, IMAGE, "sleep", "60")


def names(engine: Dockerd, *options: str) -> list[str]:
    return engine.run("ps", "--all", "--format={{.Names}}", *options).split()


async def test_the_next_agent_finds_what_runs_and_can_end_it(
    flags: AgentFlags, configure: Configure, engine: Dockerd
) -> None:
    config = configure("trap 'exit 6' TERM; echo ready; while :; do sleep 0.1; done", checkpoint=True)
    before = await containerizer_of(flags)
    container = await start(before, config)
    await eventually(lambda: output(container) == "ready\n")
    await before.close()

    after = await containerizer_of(flags)
    found = (await after.recover([config.id]))[config.id]
    assert names(engine, f"--filter=name=mesos-{config.id}", "--filter=status=running")
    found.kill(5.0)
    termination = await found.wait()
    await after.close(end_detached=True)

    assert termination.wait_status == 6 << 8


async def test_what_ended_meanwhile_is_told_by_the_next_agent(
    flags: AgentFlags, configure: Configure, engine: Dockerd
) -> None:
    config = configure("sleep 60", checkpoint=True)
    before = await containerizer_of(flags)
    await start(before, config)
    await before.close()
    engine.run("kill", f"mesos-{config.id}")

    after = await containerizer_of(flags)
    found = (await after.recover([config.id]))[config.id]
    termination = await found.wait()
    await after.close(end_detached=True)

    assert termination.wait_status == 137 << 8


async def test_orphans_of_this_agent_go_if_they_shall_and_no_others(
    flags: AgentFlags, configure: Configure, engine: Dockerd, tmp_path: Path
) -> None:
    ours, others = configure("", "ours").directory, str(tmp_path / "other" / "sandbox")
    for name, sandbox in (("mesos-ours", ours), ("mesos-others", others)):
        os.makedirs(sandbox)
        run_beside(engine, name, sandbox)

    lenient = await containerizer_of(dataclasses.replace(flags, docker_kill_orphans=False))
    await lenient.recover([])
    await lenient.close(end_detached=True)
    assert "mesos-ours" in names(engine, "--filter=status=running")
    strict = await containerizer_of(flags)
    await strict.recover([])
    await eventually(lambda: "mesos-ours" not in names(engine))
    await strict.close(end_detached=True)

    assert "mesos-others" in names(engine, "--filter=status=running")
    engine.run("rm", "-f", "mesos-others")


async def test_an_orphan_of_which_nothing_is_known_any_more_ends(
    flags: AgentFlags, configure: Configure, engine: Dockerd
) -> None:
    config = configure("sleep 60", checkpoint=True)
    before = await containerizer_of(flags)
    await start(before, config)
    await before.close()
    (flags.runtime_path / "containers" / config.id.value / "config").write_text("{")

    after = await containerizer_of(flags)
    assert await after.recover([]) == {}
    await eventually(lambda: f"mesos-{config.id}" not in names(engine))
    await after.close(end_detached=True)


async def test_what_a_look_of_the_agent_before_has_left_ends_with_it(
    flags: AgentFlags, configure: Configure, engine: Dockerd
) -> None:
    config = configure("sleep 60", runtime=RuntimeName.DOCKER)
    run_beside(engine, f"mesos-{config.id}", config.directory)
    look = dataclasses.replace(config, id=ContainerId("look", config.id), is_debug=True, container=None)
    runtime = await DockerRuntime.open(flags)
    argv = exec_command(DockerClient(flags.docker, str(engine.socket)), look)
    client = await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.DEVNULL)
    await eventually(lambda: engine.run("top", f"mesos-{config.id}").count("sleep 60") == 2)
    client.kill()
    await client.wait()

    await runtime.recover({config.id: config, look.id: look}, {})
    await runtime.cleanup(look.id)

    assert engine.run("top", f"mesos-{config.id}").count("sleep 60") == 1
    await runtime.close()
    engine.run("rm", "-f", f"mesos-{config.id}")


async def test_what_has_ended_is_kept_for_the_delay(flags: AgentFlags, configure: Configure, engine: Dockerd) -> None:
    config = configure("true")
    containerizer = await containerizer_of(flags)
    container = await containerizer.launch(config)
    await container.open_gate()
    await container.wait()
    await containerizer.close(end_detached=True)
    assert f"mesos-{config.id}" in names(engine)

    next_one = await containerizer_of(dataclasses.replace(flags, docker_remove_delay=0.0))
    await next_one.recover([])

    await eventually(lambda: f"mesos-{config.id}" not in names(engine))
    await next_one.close(end_detached=True)


async def test_an_agent_that_is_gone_leaves_no_container(
    flags: AgentFlags, configure: Configure, engine: Dockerd
) -> None:
    """Its supervisor is told nothing any more, and sees to it alone."""
    config = configure("sleep 60")
    program = Path(__file__).with_name("lonely_agent.py")
    arguments = [str(flags.work_dir), str(engine.socket), config.id.value, config.directory, IMAGE]
    agent = await asyncio.create_subprocess_exec(
        sys.executable, str(program), *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert agent.stdout is not None
    assert await agent.stdout.readline() == b"running\n"

    agent.kill()
    await agent.wait()

    await eventually(lambda: f"mesos-{config.id}" not in names(engine))


@pytest.fixture
def own(start_dockerd: StartDockerd) -> Dockerd:
    """An engine that a test may kill."""
    engine = start_dockerd()
    engine.load(busybox_image(environment=("PATH=/bin",)), IMAGE)
    return engine


async def test_kills_outlast_an_engine_that_hangs_and_one_that_is_killed_ends_its_containers(
    flags: AgentFlags, configure: Configure, own: Dockerd, caplog: pytest.LogCaptureFixture
) -> None:
    containerizer = await containerizer_of(dataclasses.replace(flags, docker_socket=str(own.socket)))
    one, other = [await start(containerizer, configure("sleep 60", name)) for name in ("one", "other")]
    (told,) = json.loads(own.run("inspect", f"mesos-{other.id}"))

    os.kill(own.pid, signal.SIGSTOP)
    one.kill(0.0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one.wait(), 0.5)
    os.kill(own.pid, signal.SIGCONT)
    await asyncio.wait_for(one.wait(), 30)
    own.kill()
    termination = await asyncio.wait_for(other.wait(), 30)

    assert termination.wait_status is not None
    assert os.waitstatus_to_exitcode(termination.wait_status) != 0
    assert process_start_time(told["State"]["Pid"]) is None
    assert sum("trying again until" in record.message for record in caplog.records) == 1
    await containerizer.close(end_detached=True)


async def test_an_agent_ends_though_its_engine_hangs_and_the_next_one_ends_what_is_left(
    flags: AgentFlags, configure: Configure, own: Dockerd
) -> None:
    flags = dataclasses.replace(flags, docker_socket=str(own.socket), docker_remove_delay=0.0)
    containerizer = await containerizer_of(flags)
    await start(containerizer, configure("sleep 60"))

    os.kill(own.pid, signal.SIGSTOP)
    try:
        await asyncio.wait_for(containerizer.close(end_detached=True, timeout_s=0.2), 20)
    finally:
        os.kill(own.pid, signal.SIGCONT)
    next_one = await containerizer_of(flags)
    await next_one.recover([])

    await eventually(lambda: not names(own))
    await next_one.close(end_detached=True)


async def test_what_was_never_seen_to_run_is_found_without_an_engine(
    flags: AgentFlags, configure: Configure, own: Dockerd
) -> None:
    """By a variable that each container has; the agent must not wait for the engine then, also to end itself."""
    containerizer = await containerizer_of(dataclasses.replace(flags, docker_socket=str(own.socket)))
    container = await containerizer.launch(configure("echo ready; exec sleep 60"))
    await container.open_gate()
    await eventually(lambda: output(container) == "ready\n")
    (told,) = json.loads(own.run("inspect", f"mesos-{container.id}"))

    own.kill()
    await asyncio.wait_for(containerizer.close(end_detached=True), 30)

    assert process_start_time(told["State"]["Pid"]) is None


async def test_what_ended_without_an_engine_is_removed_when_one_is_back(
    flags: AgentFlags, configure: Configure, own: Dockerd
) -> None:
    flags = dataclasses.replace(flags, docker_socket=str(own.socket), docker_remove_delay=0.0)
    containerizer = await containerizer_of(flags)
    container = await start(containerizer, configure("exec sleep 60"))
    own.kill()
    container.kill(0.0)
    await container.wait()

    own.start()  # it knows of nothing that happened

    await eventually(lambda: not names(own))
    await containerizer.close(end_detached=True)


async def test_without_an_engine_the_agent_does_not_start(flags: AgentFlags, tmp_path: Path) -> None:
    with pytest.raises(BadAgentFlags, match=r"--containerizers: docker cannot be used: .*Is the docker daemon running"):
        await DockerRuntime.open(dataclasses.replace(flags, docker_socket=str(tmp_path / "none")))


async def test_without_a_client_the_agent_does_not_start(flags: AgentFlags) -> None:
    with pytest.raises(BadAgentFlags, match="docker cannot be used: cannot run no-such-docker: No such file"):
        await DockerRuntime.open(dataclasses.replace(flags, docker="no-such-docker"))

"""The default executor against the fake agent (tests/client/fake_agent.py): what each side sends, over real sockets."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from tests.client.fake_agent import CONTAINER, FakeAgent
from tfmesos.executors.default.app import run
from tfmesos.wire import executor_pb2, mesos_pb2
from tfmesos.wire.text import state_name

Event = executor_pb2.Event
EXIT_3 = 3 << 8


@pytest.fixture
async def agent() -> AsyncIterator[FakeAgent]:
    agent = FakeAgent()
    await agent.start()
    yield agent
    await agent.close()


class Executor:
    """The executor, running; what its agent's user would do with it."""

    def __init__(self, agent: FakeAgent, sandbox: Path, *, checkpoint: bool = False, grace_s: float = 5) -> None:
        self.agent = agent
        self.sandbox = sandbox
        self._environment = agent.environment(str(sandbox), checkpoint=checkpoint, grace_s=grace_s)

    async def __aenter__(self) -> "Executor":
        self.running = asyncio.create_task(run(self._environment))
        await self.agent.next_subscriber()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])

    def send(self, event: Event) -> None:
        assert self.agent.current is not None
        self.agent.current.send(event)

    def launch_group(self, *tasks: mesos_pb2.TaskInfo) -> None:
        group = Event.LaunchGroup(task_group=mesos_pb2.TaskGroupInfo(tasks=tasks))
        self.send(Event(type=Event.LAUNCH_GROUP, launch_group=group))

    def kill(self, id_: str, grace_s: float | None = None) -> None:
        kill = Event.Kill(task_id=mesos_pb2.TaskID(value=id_))
        if grace_s is not None:
            kill.kill_policy.grace_period.nanoseconds = round(grace_s * 1e9)
        self.send(Event(type=Event.KILL, kill=kill))

    async def told(self) -> str:
        return told(await self.agent.next_status())

    async def exit_status(self) -> int:
        async with asyncio.timeout(10):
            return await self.running


def told(status: mesos_pb2.TaskStatus) -> str:
    assert len(status.uuid) == 16
    message = f" {status.message}" if status.HasField("message") else ""
    health = f" {'healthy' if status.healthy else 'unhealthy'}" if status.HasField("healthy") else ""
    return f"{status.task_id.value} {state_name(status.state)}{health}{message}"


def task(id_: str, command: str = "x") -> mesos_pb2.TaskInfo:
    info = mesos_pb2.TaskInfo(name=id_, task_id=mesos_pb2.TaskID(value=id_), agent_id=mesos_pb2.AgentID(value="a"))
    info.command.value = command
    return info


async def test_a_group_that_succeeds(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a"), task("b"))
        containers = [await agent.next_container() for _ in range(2)]
        first = sorted([await executor.told() for _ in range(4)])
        assert first == ["a TASK_RUNNING", "a TASK_STARTING", "b TASK_RUNNING", "b TASK_STARTING"]
        ids = {container.launch.container_id.value for container in containers}
        assert {container.launch.container_id.parent.value for container in containers} == {CONTAINER}
        assert {Path(os.readlink(tmp_path / "tasks" / id_)).name for id_ in "ab"} == ids

        for container in containers:
            container.end(0)

        ends = sorted([await executor.told() for _ in range(2)])
        assert ends == [f"{id_} TASK_FINISHED Command exited with status 0" for id_ in "ab"]
        assert await executor.exit_status() == 0


async def test_a_failing_member_ends_its_group(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a", "first"), task("b", "second"))
        containers = {item.launch.command.value: item for item in [await agent.next_container() for _ in range(2)]}
        for _ in range(4):
            await executor.told()

        containers["first"].end(EXIT_3)

        assert [await executor.told() for _ in range(3)] == [
            "a TASK_FAILED Command exited with status 3",
            "b TASK_KILLING",
            "b TASK_KILLED Command terminated with signal Terminated",
        ]
        assert await executor.exit_status() == 0


async def test_another_group_goes_on(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a"))
        doomed = await agent.next_container()
        executor.launch_group(task("b"))
        other = await agent.next_container()
        for _ in range(4):
            await executor.told()
        doomed.end(EXIT_3)
        assert await executor.told() == "a TASK_FAILED Command exited with status 3"

        other.end(0)

        assert await executor.told() == "b TASK_FINISHED Command exited with status 0"


async def test_a_single_task_is_a_group_of_one(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path) as executor:
        executor.send(Event(type=Event.LAUNCH, launch=Event.Launch(task=task("a"))))
        (await agent.next_container()).end(0)
        assert [(await executor.told()).split()[1] for _ in range(3)] == [
            "TASK_STARTING",
            "TASK_RUNNING",
            "TASK_FINISHED",
        ]


async def test_who_ignores_sigterm_gets_sigkill_after_the_grace(agent: FakeAgent, tmp_path: Path) -> None:
    agent.stubborn.add("stubborn")
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a", "stubborn"))
        container = await agent.next_container()
        for _ in range(2):
            await executor.told()

        executor.kill("a", 0.05)

        assert await executor.told() == "a TASK_KILLING"
        assert await executor.told() == "a TASK_KILLED Command terminated with signal Killed"
        assert [container.signals.get_nowait() for _ in range(2)] == [SIGTERM, SIGKILL]


async def test_a_kill_during_the_launch_ends_as_killed(agent: FakeAgent, tmp_path: Path) -> None:
    agent.held["slow"] = asyncio.Event()
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a", "slow"))
        container = await agent.next_container()
        assert await executor.told() == "a TASK_STARTING"

        executor.kill("a")

        assert await executor.told() == "a TASK_KILLING"
        assert await container.signals.get() == SIGTERM
        agent.held["slow"].set()
        assert await executor.told() == "a TASK_KILLED Command terminated with signal Terminated"


async def test_a_refused_launch_fails_with_the_agents_text(agent: FakeAgent, tmp_path: Path) -> None:
    agent.launch_refusals["bad"] = (400, "no such image")
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a", "bad"))
        assert [await executor.told() for _ in range(2)] == ["a TASK_STARTING", "a TASK_FAILED no such image"]
        assert await executor.exit_status() == 0


async def test_it_outlives_a_restart_of_its_agent(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path, checkpoint=True) as executor:
        executor.launch_group(task("a"))
        container = await agent.next_container()
        for _ in range(2):
            await executor.told()

        await agent.restart()
        await agent.next_subscriber()
        container.end(0)

        assert await executor.told() == "a TASK_FINISHED Command exited with status 0"
        assert await executor.exit_status() == 0


async def test_a_shutdown_kills_all_and_ends_it(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(task("a"))
        await agent.next_container()
        for _ in range(2):
            await executor.told()

        executor.send(Event(type=Event.SHUTDOWN))

        assert await executor.told() == "a TASK_KILLING"
        assert await executor.told() == "a TASK_KILLED Command terminated with signal Terminated"
        assert await executor.exit_status() == 0


@pytest.mark.parametrize("is_over", [False, True], ids=["with a task", "after its task"])
async def test_shut_down_it_waits_for_no_acknowledgement(agent: FakeAgent, tmp_path: Path, is_over: bool) -> None:
    agent.acknowledges = False  # as of a framework that is torn down
    async with Executor(agent, tmp_path, grace_s=1000) as executor:
        executor.launch_group(task("a"))
        container = await agent.next_container()
        for _ in range(2):
            await executor.told()
        if is_over:
            container.end(0)
            assert await executor.told() == "a TASK_FINISHED Command exited with status 0"

        executor.send(Event(type=Event.SHUTDOWN))

        if not is_over:
            assert await executor.told() == "a TASK_KILLING"
            assert await executor.told() == "a TASK_KILLED Command terminated with signal Terminated"
        assert await executor.exit_status() == 0


async def test_without_checkpointing_it_ends_with_its_agent(agent: FakeAgent, tmp_path: Path) -> None:
    async with Executor(agent, tmp_path, grace_s=0.05) as executor:
        executor.launch_group(task("a"))
        await agent.next_container()
        for _ in range(2):
            await executor.told()

        await agent.close()

        assert await executor.exit_status() == 1


async def test_a_failing_health_check_kills_the_task(agent: FakeAgent, tmp_path: Path) -> None:
    info = task("a")
    health = info.health_check
    health.type = mesos_pb2.HealthCheck.COMMAND
    health.command.value = str(EXIT_3)
    health.delay_seconds, health.interval_seconds, health.grace_period_seconds = 0, 0.01, 0
    health.consecutive_failures = 2
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(info)
        container = await agent.next_container()

        assert [await executor.told() for _ in range(6)] == [
            "a TASK_STARTING",
            "a TASK_RUNNING",
            "a TASK_RUNNING unhealthy",
            "a TASK_RUNNING unhealthy",
            "a TASK_KILLING",
            "a TASK_KILLED unhealthy Command terminated with signal Terminated",
        ]
        assert set(agent.containers) == {container.launch.container_id.value}, "a check left a container"


async def test_a_check_that_hangs_is_ended(agent: FakeAgent, tmp_path: Path) -> None:
    info = task("a")
    info.check.type = mesos_pb2.CheckInfo.COMMAND
    info.check.command.command.value = "hang"
    info.check.delay_seconds, info.check.timeout_seconds = 0, 0.05
    async with Executor(agent, tmp_path) as executor:
        executor.launch_group(info)
        container = await agent.next_container()
        async with asyncio.timeout(20):
            assert (await agent.session_ends.get()).startswith("check-")
        container.end(0)
        assert [(await agent.next_status()).check_status.type for _ in range(3)] == [mesos_pb2.CheckInfo.COMMAND] * 3

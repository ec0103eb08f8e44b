"""The agent at a stock Apache Mesos master."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_program import program
from tests.agent.waiting import eventually
from tests.conftest import StartStockMaster, StockMaster
from tfmesos.agent import Agent, AgentFlags
from tfmesos.client import SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.transport import HttpConnection
from tfmesos.wire import mesos_pb2, scheduler_pb2

pytestmark = [pytest.mark.stock, pytest.mark.timeout(180)]

PARTITION_AWARE = mesos_pb2.FrameworkInfo.Capability.PARTITION_AWARE


@asynccontextmanager
async def agent_at(master: StockMaster, flags: AgentFlags, hostname: str) -> AsyncIterator[Agent]:
    """An agent that the stock master offers under this host name."""
    agent = Agent(replace(flags, hostname=hostname, master=master.address), detector=build_detector(master.address))
    await agent.start()
    try:
        await eventually(lambda: agents_of(master, hostname))
        await registered(agent)  # the master's answer may still be under way
        yield agent
    finally:
        await agent.close()


async def registered(agent: Agent) -> None:
    """Return when the agent knows that it is registered."""
    connection = await HttpConnection.open(agent.address)
    while b'"slave/registered":1.0' not in (await connection.request("GET", "/metrics/snapshot")).body:
        pass
    await connection.close()


def agents_of(master: StockMaster, hostname: str) -> list[dict[str, Any]]:
    """The active agents of this name."""
    slaves = master.get("/master/slaves")["slaves"]
    return [slave for slave in slaves if slave["hostname"] == hostname and slave["active"]]


class Framework:
    """A framework that launches single tasks on the agent of one host name and acknowledges everything."""

    def __init__(self, client: SchedulerClient, hostname: str) -> None:
        self._client = client
        self._hostname = hostname
        self._agent_id = mesos_pb2.AgentID()

    async def launch(self, task_id: str, command: str) -> None:
        """Launch a task on the first offer of the agent."""
        async for event in self._client:
            for offer in event.offers.offers:
                if offer.hostname == self._hostname:
                    self._agent_id = offer.agent_id
                    await self._client.accept([offer.id], [self._launch(offer, task_id, command)])
                    return

    async def next_status(self) -> mesos_pb2.TaskStatus:
        """The next status, acknowledged."""
        async for event in self._client:
            if event.type == scheduler_pb2.Event.UPDATE:
                await self._client.acknowledge(event.update.status)
                return event.update.status
        raise AssertionError("the events have ended")

    async def wait_for(self, state: mesos_pb2.TaskState.ValueType) -> mesos_pb2.TaskStatus:
        async with asyncio.timeout(30):
            while (status := await self.next_status()).state != state:
                pass
            return status

    async def kill(self, task_id: str) -> None:
        await self._client.kill(mesos_pb2.TaskID(value=task_id), self._agent_id)

    def _launch(self, offer: mesos_pb2.Offer, task_id: str, command: str) -> mesos_pb2.Offer.Operation:
        operation = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH)
        task = operation.launch.task_infos.add(name=task_id)
        task.task_id.value = task_id
        task.agent_id.CopyFrom(offer.agent_id)
        task.command.value = command
        for name, amount in (("cpus", 0.1), ("mem", 32.0)):
            resource = task.resources.add(name=name, type=mesos_pb2.Value.SCALAR)
            resource.scalar.value = amount
            resource.allocation_info.role = offer.allocation_info.role
        return operation


@asynccontextmanager
async def framework_at(
    master: StockMaster, hostname: str, *, wants_checkpoints: bool = False
) -> AsyncIterator[Framework]:
    info = mesos_pb2.FrameworkInfo(
        user="root", name="stock-test", roles=["*"], failover_timeout=0, checkpoint=wants_checkpoints
    )
    for kind in (PARTITION_AWARE, mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE):
        info.capabilities.add(type=kind)
    async with SchedulerClient(build_detector(master.address), info) as client:
        yield Framework(client, hostname)


async def test_a_task_runs_to_its_end(stock_master: StockMaster, flags: AgentFlags) -> None:
    async with agent_at(stock_master, flags, "ends"), framework_at(stock_master, "ends") as framework:
        await framework.launch("hello", "echo hello")
        starting, running, finished = [await framework.next_status() for _ in range(3)]

    assert (starting.state, running.state) == (mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING)
    assert finished.state == mesos_pb2.TASK_FINISHED
    assert finished.message == "Command exited with status 0"
    assert finished.source == mesos_pb2.TaskStatus.SOURCE_EXECUTOR
    assert finished.container_status.container_id.value
    assert outputs(flags, "hello") == ["hello\n"]


async def test_a_task_is_killed(stock_master: StockMaster, flags: AgentFlags) -> None:
    async with agent_at(stock_master, flags, "kills"), framework_at(stock_master, "kills") as framework:
        await framework.launch("long", "exec sleep 1000")
        await framework.wait_for(mesos_pb2.TASK_RUNNING)
        await framework.kill("long")
        killed = await framework.wait_for(mesos_pb2.TASK_KILLED)

    assert killed.message == "Command terminated with signal Terminated"


async def test_a_framework_that_leaves_takes_its_tasks_along(
    stock_master: StockMaster, flags: AgentFlags, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    async with agent_at(stock_master, flags, "leaves"):
        async with framework_at(stock_master, "leaves") as framework:
            await framework.launch("long", f"echo $$ > {pid}; exec sleep 1000")
            await framework.wait_for(mesos_pb2.TASK_RUNNING)
            number = await eventually(lambda: pid.exists() and pid.read_text().strip())
        await eventually(lambda: not Path("/proc", str(number)).exists())


async def test_an_unregistered_agent_is_gone(stock_master: StockMaster, flags: AgentFlags) -> None:
    async with agent_at(stock_master, flags, "goes") as agent:
        agent.unregister()
        await eventually(lambda: not agents_of(stock_master, "goes"))


async def test_a_restarted_master_gets_the_agent_back_with_its_id(
    start_stock_master: StartStockMaster, flags: AgentFlags
) -> None:
    first = start_stock_master()
    async with agent_at(first, flags, "returns"):
        agent_id = agents_of(first, "returns")[0]["id"]
        first.stop()
        second = await asyncio.to_thread(start_stock_master, port=first.port)
        (slave,) = await eventually(lambda: agents_of(second, "returns"))

    assert slave["id"] == agent_id


async def test_a_silent_master_is_looked_for_again(start_stock_master: StartStockMaster, flags: AgentFlags) -> None:
    master = start_stock_master(MESOS_AGENT_PING_TIMEOUT="1secs", MESOS_MAX_AGENT_PING_TIMEOUTS="2")
    async with agent_at(master, flags, "waits"):
        agent_id = agents_of(master, "waits")[0]["id"]
        master.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(2.5)  # what is tested is that this time passes without a ping
        master.process.send_signal(signal.SIGCONT)
        (slave,) = await eventually(lambda: reregistered(master, "waits"))

    assert slave["id"] == agent_id


async def test_an_agent_that_was_lost_comes_back_with_its_task(
    start_stock_master: StartStockMaster, tmp_path: Path
) -> None:
    master = start_stock_master(MESOS_AGENT_PING_TIMEOUT="1secs", MESOS_MAX_AGENT_PING_TIMEOUTS="2")
    words = [f"--master={master.address}", f"--work_dir={tmp_path / 'work'}", "--port=0", "--hostname=lost"]
    async with program(*words, "--no-switch_user") as process, framework_at(master, "lost") as framework:
        await framework.launch("long", "exec sleep 1000")
        await framework.wait_for(mesos_pb2.TASK_RUNNING)
        process.send_signal(signal.SIGSTOP)
        await framework.wait_for(mesos_pb2.TASK_UNREACHABLE)
        process.send_signal(signal.SIGCONT)
        back = await framework.wait_for(mesos_pb2.TASK_RUNNING)
        process.send_signal(signal.SIGTERM)
        await process.wait()

    assert back.reason == mesos_pb2.TaskStatus.REASON_AGENT_REREGISTERED


async def test_a_killed_agent_goes_on_with_its_task(stock_master: StockMaster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    words = [f"--master={stock_master.address}", f"--work_dir={tmp_path / 'work'}", "--port=0", "--hostname=killed"]
    words += ["--no-switch_user", "--registration_backoff_factor=100ms"]
    async with framework_at(stock_master, "killed", wants_checkpoints=True) as framework:
        async with program(*words) as first:
            await framework.launch("t", f"read x < {gate}; exit 7")
            running = await framework.wait_for(mesos_pb2.TASK_RUNNING)
            (before,) = agents_of(stock_master, "killed")
            first.kill()
            await first.wait()
        async with program(*words) as second:
            (after,) = await eventually(lambda: reregistered(stock_master, "killed"))
            await asyncio.to_thread(gate.write_text, "go on\n")
            failed = await framework.wait_for(mesos_pb2.TASK_FAILED)
            second.send_signal(signal.SIGUSR1)
            await second.wait()

    assert (after["id"], after["pid"] != before["pid"]) == (before["id"], True)
    assert failed.message == "Command exited with status 7"
    assert failed.container_status.container_id == running.container_status.container_id


def outputs(flags: AgentFlags, task_id: str) -> list[str]:
    """What the tasks of this id have printed, over all frameworks."""
    found = Path(flags.work_dir, "slaves/latest/frameworks").glob(f"*/executors/{task_id}/runs/latest/stdout")
    return [path.read_text() for path in found]


def reregistered(master: StockMaster, hostname: str) -> list[dict[str, Any]]:
    return [slave for slave in agents_of(master, hostname) if "reregistered_time" in slave]

"""Pages of a master that knows 10,000 tasks: how long each takes, and how long others wait meanwhile."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import daemons
from tables import Row, print_table

from tfmesos.resources import Resources
from tfmesos.transport import HttpConnection, HttpServer, LibprocessNode, Pid, TcpAddress, reply
from tfmesos.wire import internal_pb2, mesos_pb2
from tfmesos.wire.names import message_name

TASKS = 10_000
RESOURCES = f"cpus:{TASKS};mem:{TASKS * 32};ports:[31000-32000]"
PAGE_GOAL_MS = 1000.0
WAIT_GOAL_MS = 100.0
JSON = {"Content-Type": "application/json"}
PAGES = (
    ("GET", "/state", None),
    ("GET", "/state-summary", None),
    ("GET", "/frameworks", None),
    ("GET", "/tasks", None),
    ("GET", "/slaves", None),
    ("GET", "/metrics/snapshot", None),
    ("POST", "/api/v1", "application/json"),
    ("POST", "/api/v1", "application/x-protobuf"),
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One page: milliseconds until all of it was there, and the longest that a `/health` took meanwhile."""

    took_ms: float
    waited_ms: float
    size: int


def returning_agent(pid: Pid) -> internal_pb2.ReregisterSlaveMessage:
    """What an agent says that knew another master and runs all the tasks: the quickest way to have that many."""
    message = internal_pb2.ReregisterSlaveMessage(version="1.11.0")
    message.slave.hostname = pid.host
    message.slave.port = pid.port
    message.slave.id.value = "another-S0"
    message.slave.resources.extend(Resources.parse(RESOURCES).to_proto("pre"))
    for capability in (1, 2, 3):
        message.agent_capabilities.add(type=mesos_pb2.AgentInfo.Capability.Type.ValueType(capability))
    framework = message.frameworks.add(user="nobody", name="bench", failover_timeout=1e6)
    framework.id.value = "another-0000"
    for number in range(TASKS):
        fill_task(message.tasks.add(), number)
    return message


def fill_task(task: mesos_pb2.Task, number: int) -> None:
    """A running task with two statuses, as a training job has them."""
    task.name = task.task_id.value = f"worker-{number}"
    task.framework_id.value = "another-0000"
    task.agent_id.value = "another-S0"
    task.state = mesos_pb2.TASK_RUNNING
    resources = Resources.parse("cpus:0.5;mem:16").allocated("*")
    task.resources.extend(resources.to_proto("post"))
    for state in (mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING):
        status = task.statuses.add(state=state, timestamp=1000.0 + number, source=mesos_pb2.TaskStatus.SOURCE_EXECUTOR)
        status.task_id.CopyFrom(task.task_id)
        status.agent_id.CopyFrom(task.agent_id)
        status.uuid = number.to_bytes(16, "big")
        status.container_status.container_id.value = f"container-{number}"
        status.container_status.network_infos.add().ip_addresses.add().ip_address = "127.0.0.1"


@contextmanager
def master() -> Any:
    """A running master's port."""
    port = daemons.free_port()
    words = [daemons.program("mesos-master"), f"--port={port}", "--registry=in_memory", "--quiet"]
    with subprocess.Popen(words) as process:
        try:
            daemons.wait_for(f"http://127.0.0.1:{port}/health", process)
            yield port
        finally:
            process.terminate()


@asynccontextmanager
async def agent(port: int) -> AsyncIterator[None]:
    """An agent with all the tasks, until the block ends."""

    async def refuse(_: Any) -> Any:
        return reply(404)

    server = await HttpServer.start(refuse, TcpAddress("127.0.0.1", 0), lambda _: True)
    assert isinstance(server.address, TcpAddress)
    node = LibprocessNode(server.address.host, server.address.port)
    message = returning_agent(node.pid("slave(1)"))
    node.send(Pid("master", "127.0.0.1", port), "slave(1)", message_name(message), message.SerializeToString())
    try:
        yield
    finally:
        await node.close()
        await server.close()


async def wait_for_tasks(connection: HttpConnection) -> None:
    """Return when the master knows them all."""
    running = 0
    while running < TASKS:
        await asyncio.sleep(0.1)
        numbers = json.loads((await connection.request("GET", "/metrics/snapshot")).body)
        running = numbers["master/tasks_running"]


class Watch:
    """Asks for `/health` again and again; knows the longest that an answer took."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection
        self.longest_s = 0.0

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            await self._connection.request("GET", "/health")
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            await asyncio.sleep(0.002)


async def measure(port: int, method: str, path: str, accept: str | None) -> Measured:
    """Ask for a page on one connection while another asks for `/health`."""
    address = TcpAddress("127.0.0.1", port)
    async with await HttpConnection.open(address) as asking, await HttpConnection.open(address) as watching:
        watch = Watch(watching)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(watch.run())
            await asyncio.sleep(0.05)
            began = time.perf_counter()
            headers = {} if accept is None else JSON | {"Accept": accept}
            body = b"" if accept is None else b'{"type":"GET_STATE"}'
            response = await asking.request(method, path, headers, body, limit=1 << 30)
            took_s = time.perf_counter() - began
            assert response.status == 200, response.status
            await asyncio.sleep(0.05)
            running.cancel()
    return Measured(took_ms=took_s * 1000, waited_ms=watch.longest_s * 1000, size=len(response.body))


async def run(port: int) -> list[Row]:
    """Each page twice: nothing is prepared for the first."""
    rows = []
    async with agent(port), await HttpConnection.open(TcpAddress("127.0.0.1", port)) as connection:
        await wait_for_tasks(connection)
        for method, path, accept in PAGES:
            for turn in ("first", "again"):
                found = await measure(port, method, path, accept)
                name = f"{path}{' ' + accept.rpartition('/')[2] if accept else ''}, {turn}, {found.size / 1e6:.2g} MB"
                rows.append(row(name, found.took_ms, "until it is there", PAGE_GOAL_MS))
                rows.append(row(name, found.waited_ms, "others wait", WAIT_GOAL_MS))
    return rows


def row(measure: str, ours: float, what: str, goal_ms: float) -> Row:
    """A row of the table."""
    return Row(measure=f"{measure}: {what}", ours=ours, reference=goal_ms, reference_name="goal", unit="ms", goal=1.0)


def main() -> None:
    with master() as port:
        print_table(asyncio.run(run(port)))


if __name__ == "__main__":
    main()

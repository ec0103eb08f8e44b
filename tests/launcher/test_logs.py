"""Following output whose agent is gone."""

import asyncio
import socket
from random import Random

from aiohttp import web

from tests.launcher.builders import offer, wishes
from tests.launcher.conftest import Written
from tfmesos.launcher.addresses import TaskAddress
from tfmesos.launcher.events import NewTask
from tfmesos.launcher.logs import GIVE_UP_AFTER, LogFollower
from tfmesos.launcher.placement import place
from tfmesos.launcher.sinks import Stream
from tfmesos.transport import HttpServer, TcpAddress, reply
from tfmesos.wire import agent_pb2


def new_task() -> NewTask:
    placed = place(wishes(), [offer("1", "cpus:1;mem:64;ports:[5-5]")], "*", Random(1))
    assert placed is not None
    address = TaskAddress(job="worker", index=0, host="h", port=5)
    return NewTask(task_id="worker-0.1", placed=placed[0], address=address)


async def test_output_of_a_lost_agent_is_given_up_and_said() -> None:
    written, task = Written(), new_task()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = TcpAddress("127.0.0.1", closed.getsockname()[1])
        async with asyncio.TaskGroup() as group:
            logs = LogFollower(written, group, resolve=lambda _: nobody, is_shown=lambda _: True)
            logs.follow(task, "framework", task.task_id)
            logs.finish(task.task_id)

            await asyncio.wait_for(logs.drain(), 10)

            assert written.notes == ["the last output of worker:0 could not be read"]
            assert await logs.last_lines(task.task_id) == ()
            assert await logs.log_path(task.task_id) == "/frameworks/framework/executors/worker-0.1/runs/latest"
            await logs.close()


async def test_looks_that_failed_while_the_task_ran_do_not_count_at_its_end() -> None:
    written, task = Written(), new_task()
    refusals: asyncio.Queue[None] = asyncio.Queue()
    left = GIVE_UP_AFTER + 1

    async def recovers(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal left
        if left:
            left -= 1
            refusals.put_nowait(None)
            return reply(503, "Agent has not finished recovery")
        look = agent_pb2.Call.FromString(await request.read()).read_file
        answer = agent_pb2.Response(type=agent_pb2.Response.READ_FILE)
        answer.read_file.size = 4
        answer.read_file.data = b"all\n"[look.offset :] if look.path.endswith("stdout") else b""
        return reply(200, answer.SerializeToString(), "application/x-protobuf")

    server = await HttpServer.start(recovers, TcpAddress("127.0.0.1", 0))
    async with asyncio.TaskGroup() as group:
        logs = LogFollower(written, group, resolve=lambda _: server.address, is_shown=lambda _: True)
        # given a task whose agent could not be asked for long
        logs.follow(task, "framework", task.task_id)
        for _ in range(left - 1):
            await asyncio.wait_for(refusals.get(), 10)
        # when the task ends and the agent still refuses once
        logs.finish(task.task_id)
        await asyncio.wait_for(logs.drain(), 10)
        # then its output is there
        assert (written.output[Stream.STDOUT], written.notes) == (b"[worker:0] all\n", [])
        await logs.close()
    await server.close()


async def test_a_task_that_was_never_followed_has_no_output() -> None:
    async with asyncio.TaskGroup() as group:
        logs = LogFollower(Written(), group, resolve=lambda _: TcpAddress("h", 1), is_shown=lambda _: True)

        await logs.drain()

        assert await logs.last_lines("worker-0.1") == ()
        await logs.close()

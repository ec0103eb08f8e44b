"""Executors of both kinds under a stock Apache Mesos master."""

import signal
from pathlib import Path

import pytest

from tests.agent.test_program import program
from tests.agent.test_stock import agents_of, reregistered
from tests.agent.waiting import eventually
from tests.conftest import StockMaster
from tests.executors.conftest import Event, Operation, framework_on
from tests.ports import free_port
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.stock, pytest.mark.timeout(180)]

RUNNING = {"a TASK_STARTING", "a TASK_RUNNING", "b TASK_STARTING", "b TASK_RUNNING", "c TASK_RUNNING"}


async def test_executors_work_on_over_a_kill_of_their_agent(
    stock_master: StockMaster, tmp_path: Path, echo_command: mesos_pb2.CommandInfo
) -> None:
    words = [
        f"--master={stock_master.address}",
        f"--work_dir={tmp_path / 'work'}",
        f"--port={free_port()}",
        "--hostname=executes",
    ]
    words += ["--no-switch_user", "--registration_backoff_factor=100ms", "--executor_reregistration_timeout=15secs"]
    gate = tmp_path / "gate"
    async with program(*words) as first:
        await eventually(lambda: agents_of(stock_master, "executes"))
        async with framework_on(stock_master.address, checkpoint=True) as framework:
            # given a custom executor and a task group, launched on one offer
            custom = framework.executor("custom", mesos_pb2.ExecutorInfo.CUSTOM)
            custom.command.CopyFrom(echo_command)
            alone = framework.task("c")
            alone.executor.CopyFrom(custom)
            waits = framework.task("a", f"until test -e {gate}; do sleep 0.05; done")
            group = mesos_pb2.TaskGroupInfo(tasks=[waits, framework.task("b", "sleep 1000")])
            default = framework.executor("default", mesos_pb2.ExecutorInfo.DEFAULT)
            launch = Operation(type=Operation.LAUNCH, launch=Operation.Launch(task_infos=[alone]))
            launch_group = Operation.LaunchGroup(executor=default, task_group=group)
            operations = [launch, Operation(type=Operation.LAUNCH_GROUP, launch_group=launch_group)]
            await framework.client.accept([framework.offer.id], operations)
            assert set(await framework.told(5)) == RUNNING
            # when the agent is killed and started again
            first.kill()
            await first.wait()
            async with program(*words) as second:
                await eventually(lambda: reregistered(stock_master, "executes"))
                # then the group goes on, and so do messages to and from the custom executor
                gate.touch()
                assert await framework.told() == ["a TASK_FINISHED Command exited with status 0"]
                await framework.message("custom", b"hello")
                answer = await framework.next_event(lambda event: event.type == Event.MESSAGE)
                assert answer.message.executor_id.value == "custom"
                await framework.message("custom", b"finish")
                assert [text.split()[:2] for text in await framework.told()] == [["c", "TASK_FINISHED"]]
                await framework.shut_down("default")
                assert (await framework.next_status()).task_id.value == "b"
                second.send_signal(signal.SIGUSR1)  # it ends all that it has
                assert await second.wait() == 0

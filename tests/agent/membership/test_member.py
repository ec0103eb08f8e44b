"""What a registration means for the rest of the agent."""

from __future__ import annotations

from pathlib import Path

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import InTestMaster, command_task
from tfmesos.agent import AgentFlags
from tfmesos.wire import internal_pb2, mesos_pb2


def occupy_slaves(work_dir: Path) -> None:
    work_dir.mkdir()
    (work_dir / "slaves").touch()


async def test_an_agent_that_cannot_make_its_directory_says_so_of_each_task(
    flags: AgentFlags, master: InTestMaster
) -> None:
    occupy_slaves(Path(flags.work_dir))
    async with running_agent(flags, master):
        await master.wait_for(internal_pb2.UpdateSlaveMessage)

        master.run(command_task("t"))
        end = await master.wait_for_end("t")

    assert end.state == mesos_pb2.TASK_FAILED
    assert "cannot make the sandbox" in end.message

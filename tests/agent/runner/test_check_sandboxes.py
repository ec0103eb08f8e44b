"""What health checks by commands leave behind."""

from __future__ import annotations

import os
from pathlib import Path

from tests.agent.in_test_master import InTestMaster, command_task
from tests.agent.waiting import eventually
from tfmesos.agent import Agent
from tfmesos.wire import mesos_pb2


async def test_a_check_runs_beside_its_task_and_leaves_no_sandbox(
    agent: Agent, master: InTestMaster, tmp_path: Path
) -> None:
    task = command_task("t", "sleep 60")
    check = task.health_check
    check.type = mesos_pb2.HealthCheck.COMMAND
    check.command.value = "echo x >> looks"
    check.delay_seconds, check.interval_seconds = 0.0, 0.02
    master.run(task)
    await master.wait_for_state("t", mesos_pb2.TASK_RUNNING)
    runs = "slaves/latest/frameworks/*/executors/t/runs/latest"

    (sandbox,) = (tmp_path / "agent").glob(runs)
    await eventually(lambda: (sandbox / "looks").exists() and len((sandbox / "looks").read_text()) >= 10)

    assert len(os.listdir(sandbox / "containers")) <= 1

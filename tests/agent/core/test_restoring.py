"""What the core makes of what the agent before has kept."""

from __future__ import annotations

import pytest

from tests.agent.core_play import build_core, info
from tests.agent.in_test_master import command_task
from tfmesos.agent.checkpoint import ExecutorKept, FrameworkKept, TaskKept, UpdateAcknowledged, UpdateQueued
from tfmesos.agent.checkpoint.state import CheckpointState
from tfmesos.agent.core import Clocks, Found
from tfmesos.wire import internal_pb2, mesos_pb2

WALL = 1_000_000.0


def told_at(wall_s: float) -> internal_pb2.StatusUpdate:
    update = internal_pb2.StatusUpdate(timestamp=wall_s, uuid=str(wall_s).encode())
    update.framework_id.value = "f"
    update.status.task_id.value = "t"
    update.status.state, update.status.timestamp = mesos_pb2.TASK_RUNNING, wall_s
    return update


def test_max_completion_time_counts_from_the_start_however_often_a_check_has_told_since() -> None:
    task, executor = command_task("t"), mesos_pb2.ExecutorInfo()
    task.max_completion_time.nanoseconds = 1000 * 10**9
    executor.executor_id.value = "t"
    kept = CheckpointState(1)
    kept.apply(FrameworkKept(info=info()))
    kept.apply(ExecutorKept(framework_id="f", container_id="c", info=executor, is_command=True))
    kept.apply(TaskKept(framework_id="f", container_id="c", info=task))
    for told_s in range(0, 500, 100):
        update = told_at(WALL + told_s)
        kept.apply(UpdateQueued(update=update))
        kept.apply(UpdateAcknowledged(framework_id="f", task_id="t", uuid=update.uuid))
    core = build_core()

    core.restore(kept.copy(), {"c": Found(pid=1, has_started=True)}, Clocks(now=7.0, wall=WALL + 600))

    assert core.deadline() == pytest.approx(7.0 + 400)

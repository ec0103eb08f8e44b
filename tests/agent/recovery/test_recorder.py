"""What the core decides is what the next agent finds, for the frameworks that want checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tests.agent.in_test_master import FRAMEWORK_ID, command_task, framework
from tfmesos.agent.checkpoint import CheckpointStore, Recovered
from tfmesos.agent.core import (
    Action,
    AgentCore,
    CoreSettings,
    Ending,
    ExecutorRecord,
    Fact,
    KeepTasks,
    Order,
    Report,
    TaskKey,
)
from tfmesos.agent.recovery.recorder import CheckpointRecorder
from tfmesos.wire import internal_pb2, mesos_pb2

NOW = 1_000_000.0
KEY = TaskKey(FRAMEWORK_ID, "t")


class Agent:
    """A core whose facts are noted as the agent's shell does it."""

    def __init__(self, work_dir: Path) -> None:
        self.store = CheckpointStore.open(work_dir, is_strict=True, max_completed_frameworks=5)
        self.recorder = CheckpointRecorder(self.store, clock=lambda: NOW)
        self.core = AgentCore(CoreSettings())
        self.updates: list[internal_pb2.StatusUpdate] = []

    def do(self, actions: list[Action]) -> list[Action]:
        for action in actions:
            if isinstance(action, get_args(Fact)):
                self.recorder.note(action)
            if isinstance(action, Report):
                self._update(action)
        return actions

    def run(self, *, wants_checkpoints: bool) -> ExecutorRecord:
        info = framework()
        info.checkpoint = wants_checkpoints
        actions = self.do(self.core.run(Order(framework=info, tasks=[command_task("t")]), "c"))
        return next(action.executor for action in actions if isinstance(action, KeepTasks))

    def acknowledge_all(self) -> None:
        for update in self.updates:
            self.recorder.acknowledged(KEY, update.uuid)
        self.do(self.core.acknowledged(KEY))

    @property
    def found(self) -> Recovered:
        return self.store.recovered()

    def _update(self, report: Report) -> None:
        update = internal_pb2.StatusUpdate(status=report.status, timestamp=NOW, uuid=b"%d" % len(self.updates))
        update.framework_id.value = report.key.framework_id
        self.updates.append(update)
        self.recorder.update(update)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path)
    yield agent
    agent.store.close()


def test_a_framework_that_wants_none_leaves_nothing_on_disk(agent: Agent) -> None:
    size = agent.store.path.stat().st_size

    executor = agent.run(wants_checkpoints=False)
    agent.do(agent.core.forked(executor, 7))
    agent.do(agent.core.kill(KEY, 1.0))

    assert agent.store.path.stat().st_size == size
    assert agent.found == Recovered()


def test_a_task_that_was_accepted_is_known_before_anything_starts(agent: Agent) -> None:
    agent.run(wants_checkpoints=True)

    found = agent.found.frameworks[FRAMEWORK_ID]
    assert found.tasks["t"].info == command_task("t")
    assert not found.tasks["t"].was_sent
    assert found.executors["c"].is_command


def test_a_task_that_runs_is_known_with_its_updates(agent: Agent) -> None:
    executor = agent.run(wants_checkpoints=True)
    agent.do(agent.core.forked(executor, 7))
    agent.do(agent.core.opened(executor, 0.0))

    task = agent.found.frameworks[FRAMEWORK_ID].tasks["t"]
    assert not task.was_sent  # a command task needs no word of it
    assert [update.status.state for update in task.pending] == [mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING]


def test_a_kill_is_known_with_its_time(agent: Agent) -> None:
    executor = agent.run(wants_checkpoints=True)
    agent.do(agent.core.forked(executor, 7))
    agent.do(agent.core.opened(executor, 0.0))
    agent.do(agent.core.kill(KEY, 2.5))

    kill = agent.found.frameworks[FRAMEWORK_ID].tasks["t"].kill
    assert kill is not None
    assert (kill.at_s, kill.grace_s, kill.is_overdue) == (NOW, 2.5, False)


def test_a_framework_that_is_shut_down_reports_nothing_any_more(agent: Agent) -> None:
    executor = agent.run(wants_checkpoints=True)
    agent.do(agent.core.forked(executor, 7))
    agent.do(agent.core.shut_down_framework(FRAMEWORK_ID, 0.0))

    found = agent.found.frameworks[FRAMEWORK_ID]
    assert found.is_ending
    assert found.tasks["t"].pending == []


def test_what_is_done_is_forgotten(agent: Agent) -> None:
    executor = agent.run(wants_checkpoints=True)
    agent.do(agent.core.forked(executor, 7))
    agent.do(agent.core.opened(executor, 0.0))
    agent.do(agent.core.ended(executor, Ending(wait_status=0)))
    agent.acknowledge_all()

    assert agent.found.frameworks == {}
    assert list(agent.found.completed) == [FRAMEWORK_ID]


def test_a_drain_is_known_until_it_is_over(agent: Agent) -> None:
    executor = agent.run(wants_checkpoints=False)
    agent.do(agent.core.forked(executor, 7))
    agent.do(agent.core.drain(mesos_pb2.DrainConfig(mark_gone=True), 0.0))
    drain = agent.found.drain
    assert drain is not None
    assert drain.message is not None
    assert drain.message.config.mark_gone

    agent.do(agent.core.ended(executor, Ending(wait_status=9)))
    agent.acknowledge_all()
    assert agent.found.drain is None

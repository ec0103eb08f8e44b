"""What operators do with agents: deactivate, drain, mark gone."""

from __future__ import annotations

import pytest

from tests.master.world import Agent, Framework, World, framework_info, task
from tfmesos.master.core.events import AgentDeactivated, AgentDrained, AgentMarkedGone, AgentReactivated
from tfmesos.master.ids import AgentId
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.text import state_name


class Cluster:
    """A framework with one running task on the only agent."""

    def __init__(self) -> None:
        self.world = World()
        self.framework: Framework = self.world.subscribe(framework_info(checkpoint=True))
        self.agent: Agent = self.world.register()
        self.id = AgentId(self.agent.id)
        [offer] = self.framework.take_offers()
        self.framework.accept([offer], [task("t", offer)], refuse_s=0)
        self.agent.update("t", self.framework.id, mesos_pb2.TASK_RUNNING)
        self.world.wait(1.0)
        self.agent.take(internal_pb2.RunTaskMessage)
        self.framework.take()

    def end_task(self) -> None:
        self.agent.update("t", self.framework.id, mesos_pb2.TASK_KILLED)
        [status] = self.framework.take_statuses()
        self.framework.acknowledge(status)

    def is_offered(self) -> bool:
        self.world.wait(6.0)
        self.agent.pong()
        return bool(self.framework.take_offers())

    def drain_state(self) -> int | None:
        drain = self.world.core.books.agents[self.id].drain
        return drain.state if drain is not None else None

    def return_agent(self) -> None:
        tasks = [one.message for one in self.world.core.books.agents[self.id].all_tasks()]
        self.agent.break_link()
        self.agent.reregister(tasks, [self.world.core.books.frameworks[self.framework.id].info])


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_deactivated_agent_is_not_offered_and_its_tasks_go_on(cluster: Cluster) -> None:
    assert cluster.world.ask(AgentDeactivated(cluster.id)) == 200
    assert [one.type for one in cluster.framework.take()] == [scheduler_pb2.Event.RESCIND]
    assert not cluster.is_offered()
    cluster.return_agent()
    assert not cluster.is_offered(), "coming back does not put it into service"
    assert cluster.world.ask(AgentReactivated(cluster.id)) == 200
    assert cluster.is_offered()
    assert list(cluster.world.core.books.frameworks[cluster.framework.id].tasks) == ["t"]


def test_a_draining_agent_is_drained_when_its_last_task_is_acknowledged(cluster: Cluster) -> None:
    assert cluster.world.ask(AgentDrained(cluster.id, 5.0, mark_gone=False)) == 200
    [drain] = cluster.agent.take(internal_pb2.DrainSlaveMessage)
    assert drain.config.max_grace_period.nanoseconds == 5_000_000_000
    assert cluster.drain_state() == mesos_pb2.DRAINING
    assert cluster.world.ask(AgentReactivated(cluster.id)) == 400
    cluster.framework.take()
    cluster.end_task()
    assert cluster.drain_state() == mesos_pb2.DRAINED
    cluster.return_agent()
    assert not cluster.agent.take(internal_pb2.DrainSlaveMessage), "there is nothing left to kill"
    assert not cluster.is_offered()
    assert cluster.world.ask(AgentReactivated(cluster.id)) == 200
    assert cluster.drain_state() is None
    assert cluster.is_offered()


def test_a_draining_agent_that_comes_back_is_told_again(cluster: Cluster) -> None:
    cluster.world.ask(AgentDrained(cluster.id, None, mark_gone=False))
    cluster.agent.take(internal_pb2.DrainSlaveMessage)
    cluster.return_agent()
    [drain] = cluster.agent.take(internal_pb2.DrainSlaveMessage)
    assert not drain.config.HasField("max_grace_period")


def test_an_agent_is_not_drained_while_nobody_knows_what_runs_on_it(cluster: Cluster) -> None:
    cluster.world.ask(AgentDrained(cluster.id, None, mark_gone=False))
    info = cluster.world.core.books.frameworks[cluster.framework.id].info
    [running] = [one.message for one in cluster.world.core.books.agents[cluster.id].all_tasks()]
    info.checkpoint = False
    cluster.agent.break_link()
    assert cluster.framework.states() == ["TASK_LOST"]
    assert cluster.drain_state() == mesos_pb2.DRAINING
    lost = mesos_pb2.Task()
    lost.CopyFrom(running)
    lost.state = mesos_pb2.TASK_RUNNING
    del lost.statuses[:]
    cluster.agent.take(internal_pb2.DrainSlaveMessage)
    cluster.agent.reregister([lost], [info])
    assert cluster.agent.take(internal_pb2.DrainSlaveMessage), "the task that still runs shall end"
    cluster.framework.take()
    cluster.end_task()
    assert cluster.drain_state() == mesos_pb2.DRAINED


def test_a_drained_agent_can_be_gone_at_once(cluster: Cluster) -> None:
    cluster.world.ask(AgentDrained(cluster.id, None, mark_gone=True))
    cluster.framework.take()
    cluster.end_task()
    assert cluster.world.core.books.gone_agents.keys() == {cluster.id}
    assert cluster.agent.take(internal_pb2.ShutdownMessage)


@pytest.mark.parametrize("is_aware", [True, False])
def test_tasks_of_a_gone_agent_are_gone(is_aware: bool) -> None:
    world = World()
    aware = [mesos_pb2.FrameworkInfo.Capability.PARTITION_AWARE] if is_aware else []
    framework = world.subscribe(framework_info(capabilities=aware))
    agent = world.register()
    [offer] = framework.take_offers()
    framework.accept([offer], [task("t", offer)])
    agent.take(internal_pb2.RunTaskMessage)
    assert world.ask(AgentMarkedGone(AgentId(agent.id))) == 200
    status, failure = framework.take()
    assert state_name(status.update.status.state) == ("TASK_GONE_BY_OPERATOR" if is_aware else "TASK_LOST")
    assert status.update.status.reason == mesos_pb2.TaskStatus.REASON_AGENT_REMOVED_BY_OPERATOR
    assert failure.failure.agent_id.value == agent.id
    [shutdown] = agent.take(internal_pb2.ShutdownMessage)
    agent.reregister()
    assert agent.take(internal_pb2.ShutdownMessage) == [shutdown]
    assert world.ask(AgentMarkedGone(AgentId(agent.id))) == 200, "once more changes nothing"


def test_an_unreachable_agent_marked_gone_takes_its_tasks_with_it(cluster: Cluster) -> None:
    cluster.world.wait(200.0)
    assert "TASK_UNREACHABLE" in cluster.framework.states()
    cluster.world.ask(AgentMarkedGone(cluster.id))
    assert cluster.framework.states() == ["TASK_GONE_BY_OPERATOR"]
    assert not cluster.world.core.books.frameworks[cluster.framework.id].unreachable


def test_unknown_agents_and_those_that_cannot_drain_are_refused(cluster: Cluster) -> None:
    nobody = AgentId("nobody")
    assert cluster.world.ask(AgentMarkedGone(nobody)) == 404
    for wish in (AgentDrained(nobody, None, mark_gone=False), AgentDeactivated(nobody), AgentReactivated(nobody)):
        assert cluster.world.ask(wish) == 400
    assert cluster.world.ask(AgentReactivated(cluster.id)) == 400
    old = Agent(cluster.world, Pid("slave(1)", "127.0.0.1", 6001), "cpus:1", capabilities=(1, 2, 3))
    old.register()
    assert cluster.world.ask(AgentDrained(AgentId(old.id), None, mark_gone=False)) == 400


def test_operations_are_reconciled_by_where_they_would_be(cluster: Cluster) -> None:
    cluster.world.ask(AgentMarkedGone(cluster.id))
    cluster.framework.take()
    operation = mesos_pb2.OperationID(value="o")
    wanted = [scheduler_pb2.Call.ReconcileOperations.Operation(operation_id=operation) for _ in range(3)]
    wanted[1].agent_id.value = cluster.id
    wanted[2].agent_id.value = "nobody"
    cluster.framework.call("RECONCILE_OPERATIONS", operations=wanted)
    states = [one.update_operation_status.status.state for one in cluster.framework.take()]
    assert states == [
        mesos_pb2.OPERATION_UNKNOWN,
        mesos_pb2.OPERATION_GONE_BY_OPERATOR,
        mesos_pb2.OPERATION_UNKNOWN,
    ]

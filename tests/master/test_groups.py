"""Executors and task groups in the master's books."""

from __future__ import annotations

import pytest

from tests.master.world import Agent, Framework, World, task
from tfmesos.resources import Resources
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

Event = scheduler_pb2.Event
Operation = mesos_pb2.Offer.Operation


class Cluster:
    """A framework with an offer of one agent."""

    def __init__(self) -> None:
        self.world = World()
        self.framework: Framework = self.world.subscribe()
        self.agent: Agent = self.world.register("cpus:4;mem:4096;disk:1000")
        [self.offer] = self.framework.take_offers()

    def free(self) -> str:
        """What is offered when nothing is held back."""
        self.world.wait(1.0)
        [self.offer] = self.framework.take_offers()
        return str(Resources.from_proto(self.offer.resources).unallocated())

    def executor(self, kind: int = mesos_pb2.ExecutorInfo.DEFAULT) -> mesos_pb2.ExecutorInfo:
        info = mesos_pb2.ExecutorInfo(type=kind)  # type: ignore[arg-type]
        info.executor_id.value = "e"
        info.framework_id.value = self.framework.id
        info.resources.extend(Resources.parse("cpus:0.1;mem:32;disk:32").to_proto())
        if kind == mesos_pb2.ExecutorInfo.CUSTOM:
            info.command.value = "run"
        return info

    def launch_group(self, executor: mesos_pb2.ExecutorInfo, *names: str) -> None:
        operation = Operation(type=Operation.LAUNCH_GROUP)
        operation.launch_group.executor.CopyFrom(executor)
        operation.launch_group.task_group.tasks.extend(task(name, self.offer) for name in names)
        self.framework.call(
            "ACCEPT",
            offer_ids=[self.offer.id],
            operations=[operation],
            filters=mesos_pb2.Filters(refuse_seconds=0),
        )

    def launch_with(self, executor: mesos_pb2.ExecutorInfo, name: str) -> None:
        info = task(name, self.offer)
        info.ClearField("command")
        info.executor.CopyFrom(executor)
        self.framework.accept([self.offer], [info], refuse_s=0)

    def exit_executor(self, status: int = 9) -> None:
        message = internal_pb2.ExitedExecutorMessage(status=status)
        message.slave_id.value = self.agent.id
        message.framework_id.value = self.framework.id
        message.executor_id.value = "e"
        self.agent.say(message)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_group_goes_to_the_agent_whole_with_its_executor_in_each_task(cluster: Cluster) -> None:
    cluster.launch_group(cluster.executor(), "a", "b")
    [run] = cluster.agent.take(internal_pb2.RunTaskGroupMessage)
    assert [one.task_id.value for one in run.task_group.tasks] == ["a", "b"]
    assert all(one.executor == run.executor for one in run.task_group.tasks)
    assert run.launch_executor
    assert {one.allocation_info.role for one in run.executor.resources} == {"*"}
    assert cluster.free() == "cpus:1.9; mem:3936; disk:968"
    assert [one.value for one in cluster.offer.executor_ids] == ["e"]


def test_a_second_group_joins_the_running_executor(cluster: Cluster) -> None:
    cluster.launch_group(cluster.executor(), "a")
    cluster.free()
    cluster.launch_group(cluster.executor(), "b")
    second = cluster.agent.take(internal_pb2.RunTaskGroupMessage)[1]
    assert not second.launch_executor
    assert cluster.free() == "cpus:1.9; mem:3936; disk:968"


def test_one_bad_task_refuses_its_whole_group(cluster: Cluster) -> None:
    cluster.launch_group(cluster.executor(), "a", "b", "a")
    statuses = cluster.framework.take_statuses()
    assert [one.task_id.value for one in statuses] == ["a", "b", "a"]
    assert {one.message for one in statuses} == {"Task 'a' is invalid: Task has duplicate ID: a"}
    assert {one.reason for one in statuses} == {mesos_pb2.TaskStatus.REASON_TASK_GROUP_INVALID}
    assert not cluster.agent.take(internal_pb2.RunTaskGroupMessage)
    assert cluster.free() == "cpus:4; mem:4096; disk:1000"


def test_a_group_without_tasks_is_nothing(cluster: Cluster) -> None:
    cluster.launch_group(cluster.executor())
    assert cluster.framework.take() == []
    assert cluster.free() == "cpus:4; mem:4096; disk:1000"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda info: info.ClearField("type"), "'ExecutorInfo.type' must be set"),
        (lambda info: info.command.SetInParent(), "'ExecutorInfo.command' must not be set for 'DEFAULT' executor"),
        (
            lambda info: info.resources[0].scalar.__setattr__("value", 0.001),
            "Executor 'e' uses less CPUs (0.001) than the minimum required (0.01)",
        ),
        (
            lambda info: info.container.__setattr__("type", mesos_pb2.ContainerInfo.DOCKER),
            "'ExecutorInfo.container.type' must be 'MESOS' for 'DEFAULT' executor",
        ),
    ],
)
def test_the_executor_of_a_group_has_rules_of_its_own(cluster: Cluster, change: object, text: str) -> None:
    executor = cluster.executor()
    change(executor)  # type: ignore[operator]
    cluster.launch_group(executor, "a")
    assert [one.message for one in cluster.framework.take_statuses()] == [text]


def test_an_executor_ends_before_its_tasks_do_and_frees_its_resources(cluster: Cluster) -> None:
    cluster.launch_with(cluster.executor(mesos_pb2.ExecutorInfo.CUSTOM), "a")
    [run] = cluster.agent.take(internal_pb2.RunTaskMessage)
    assert run.launch_executor
    cluster.framework.take()
    cluster.exit_executor(status=256)
    cluster.agent.update("a", cluster.framework.id, mesos_pb2.TASK_FAILED)
    failure, update = cluster.framework.take()
    assert (failure.failure.executor_id.value, failure.failure.status) == ("e", 256)
    assert update.update.status.state == mesos_pb2.TASK_FAILED
    assert cluster.free() == "cpus:4; mem:4096; disk:1000"


def test_another_executor_of_the_same_id_is_refused_while_the_first_runs(cluster: Cluster) -> None:
    cluster.launch_with(cluster.executor(mesos_pb2.ExecutorInfo.CUSTOM), "a")
    cluster.free()
    other = cluster.executor(mesos_pb2.ExecutorInfo.CUSTOM)
    other.name = "other"
    cluster.launch_with(other, "b")
    [status] = cluster.framework.take_statuses()
    assert "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID" in status.message


def test_messages_travel_both_ways_between_framework_and_executor(cluster: Cluster) -> None:
    executor_id, agent_id = mesos_pb2.ExecutorID(value="e"), mesos_pb2.AgentID(value=cluster.agent.id)
    cluster.framework.call("MESSAGE", agent_id=agent_id, executor_id=executor_id, data=b"\x00\xff")
    cluster.framework.call("SHUTDOWN", agent_id=agent_id, executor_id=executor_id)
    sent = cluster.world.sent.pop(cluster.agent.pid)
    assert [one.data for one in sent if isinstance(one, internal_pb2.FrameworkToExecutorMessage)] == [b"\x00\xff"]
    assert [one.executor_id.value for one in sent if isinstance(one, internal_pb2.ShutdownExecutorMessage)] == ["e"]
    back = internal_pb2.ExecutorToFrameworkMessage(slave_id=agent_id, executor_id=executor_id, data=b"hello")
    back.framework_id.value = cluster.framework.id
    cluster.agent.say(back)
    assert [one.message.data for one in cluster.framework.take()] == [b"hello"]


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_returning_agent_says_which_executors_run(cluster: Cluster, is_listed: bool) -> None:
    """Without checkpoint the master forgets them when the link breaks: one that still runs is taken over again."""
    executor = cluster.executor()
    cluster.launch_group(executor, "a")
    [run] = cluster.agent.take(internal_pb2.RunTaskGroupMessage)
    cluster.agent.break_link()
    cluster.agent.reregister(frameworks=[run.framework], executors=[run.executor] if is_listed else [])
    assert cluster.free() == ("cpus:3.9; mem:4064; disk:968" if is_listed else "cpus:4; mem:4096; disk:1000")
    assert len(cluster.offer.executor_ids) == is_listed

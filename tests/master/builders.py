"""What tests of the core begin with, and messages that they are made of."""

from __future__ import annotations

from tests.master.world import Agent, Framework, World, task
from tfmesos.master.core import books
from tfmesos.master.core.books import Offer
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import TERMINAL_STATES, reason_name, source_name, state_name

Operation = mesos_pb2.Offer.Operation


def running(world: World, info: mesos_pb2.FrameworkInfo | None = None) -> tuple[Framework, Agent]:
    """A framework with one task "t" on one agent."""
    agent = world.register()
    framework = world.subscribe(info)
    offers = framework.take_offers()
    framework.accept(offers, [task("t", offers[0])], refuse_s=1000.0)
    agent.update("t", framework.id, mesos_pb2.TASK_RUNNING)
    framework.take()
    return framework, agent


def described(status: mesos_pb2.TaskStatus) -> tuple[str, str, str, str]:
    return (
        state_name(status.state),
        source_name(status.source),
        reason_name(status.reason),
        status.message,
    )


def shown(offer: Offer) -> mesos_pb2.Offer:
    return mesos_pb2.Offer(
        id=mesos_pb2.OfferID(value=offer.id),
        agent_id=mesos_pb2.AgentID(value=offer.agent_id),
        hostname="host",
        framework_id=mesos_pb2.FrameworkID(value=offer.framework_id),
    )


def executor_info(name: str, framework_id: str, *, is_default: bool) -> mesos_pb2.ExecutorInfo:
    info = mesos_pb2.ExecutorInfo(type=mesos_pb2.ExecutorInfo.DEFAULT if is_default else mesos_pb2.ExecutorInfo.CUSTOM)
    info.executor_id.value = name
    info.framework_id.value = framework_id
    info.resources.extend(Resources.parse("cpus:0.1;mem:32;disk:1").to_proto())
    if not is_default:
        info.command.value = "run"
    return info


def with_executor(tasks: list[mesos_pb2.TaskInfo], executor: mesos_pb2.ExecutorInfo) -> list[mesos_pb2.TaskInfo]:
    for one in tasks:
        one.ClearField("command")
        one.executor.CopyFrom(executor)
    return tasks


def launch_of(tasks: list[mesos_pb2.TaskInfo]) -> Operation:
    operation = Operation(type=Operation.LAUNCH)
    operation.launch.task_infos.extend(tasks)
    return operation


def group_of(tasks: list[mesos_pb2.TaskInfo], executor: mesos_pb2.ExecutorInfo) -> Operation:
    operation = Operation(type=Operation.LAUNCH_GROUP)
    operation.launch_group.executor.CopyFrom(executor)
    operation.launch_group.task_group.tasks.extend(tasks)
    return operation


def running_again(one: books.Task) -> mesos_pb2.Task:
    """The task as its agent lists it, which knows nothing of what the master itself said of it."""
    message = mesos_pb2.Task()
    message.CopyFrom(one.message)
    if message.state in TERMINAL_STATES and is_by_master(message.statuses[-1]):
        message.state = mesos_pb2.TASK_RUNNING
    message.ClearField("statuses")
    message.statuses.extend(status for status in one.message.statuses if not is_by_master(status))
    return message


def is_by_master(status: mesos_pb2.TaskStatus) -> bool:
    """What agents send in these tests has no source, whose default is the master."""
    return status.HasField("source") and status.source == mesos_pb2.TaskStatus.SOURCE_MASTER

"""Tasks from ACCEPT to their end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.protobuf.message import Message

from tests.master.builders import described, running
from tests.master.world import MODERN, Agent, Framework, World, framework_info, task
from tfmesos.master.ids import AgentId
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2
from tfmesos.wire.text import state_name

Event = scheduler_pb2.Event
RUNNING = mesos_pb2.TASK_RUNNING
FINISHED = mesos_pb2.TASK_FINISHED


def events_of(framework: Framework) -> list[str]:
    return [Event.Type.Name(event.type) for event in framework.take()]


def test_a_launch_reaches_the_agent_with_what_it_needs() -> None:
    world = World()
    agent = world.register()
    framework = world.subscribe()
    offers = framework.take_offers()
    framework.accept(offers, [task("t", offers[0])])
    [run] = agent.take(internal_pb2.RunTaskMessage)
    assert run.framework.id.value == framework.id
    assert run.task.task_id.value == "t"
    assert run.launch_executor
    assert run.pid == "@0.0.0.0:0"
    assert {resource.allocation_info.role for resource in run.task.resources} == {"*"}


def test_the_agents_last_resource_version_is_echoed() -> None:
    world = World()
    agent = world.register()
    update = internal_pb2.UpdateSlaveMessage(slave_id=mesos_pb2.AgentID(value=agent.id))
    update.resource_version_uuid.value = b"v" * 16
    agent.say(update)
    framework = world.subscribe()
    offers = framework.take_offers()
    framework.accept(offers, [task("t", offers[0])])
    [run] = agent.take(internal_pb2.RunTaskMessage)
    assert [one.uuid.value for one in run.resource_version_uuids] == [b"v" * 16]


def test_updates_are_forwarded_and_the_ack_of_the_end_closes_the_task() -> None:
    world = World()
    framework, agent = running(world)
    uuid = agent.update("t", framework.id, FINISHED)
    [status] = framework.take_statuses()
    assert (status.state, status.uuid, status.executor_id.value) == (FINISHED, uuid, "t")
    assert "t" in world.core.books.frameworks[framework.id].tasks
    framework.acknowledge(status)
    [ack] = agent.take(internal_pb2.StatusUpdateAcknowledgementMessage)
    assert (ack.task_id.value, ack.uuid) == ("t", uuid)
    known = world.core.books.frameworks[framework.id]
    assert not known.tasks
    assert [one.id for one in known.completed] == ["t"]


def test_resources_are_free_when_the_latest_state_is_an_end_before_any_ack() -> None:
    world = World()
    framework, agent = running(world)
    agent.update("t", framework.id, RUNNING, latest=FINISHED)
    [status] = framework.take_statuses()
    assert status.state == RUNNING
    world.wait(1)
    assert not world.core.books.agents[AgentId(agent.id)].used()


def test_an_update_without_pid_wants_no_acknowledgement() -> None:
    world = World()
    framework, agent = running(world)
    message = internal_pb2.StatusUpdateMessage(pid="@0.0.0.0:0")
    message.update.framework_id.value = framework.id
    message.update.slave_id.value = agent.id
    message.update.timestamp = 1.0
    message.update.uuid = bytes(16)
    message.update.status.task_id.value = "t"
    message.update.status.state = RUNNING
    agent.say(message)
    [status] = framework.take_statuses()
    assert not status.HasField("uuid")


def test_a_stranger_may_not_speak_for_an_agent() -> None:
    world = World()
    framework, agent = running(world)
    stranger = Agent(world, replace(agent.pid, port=9), agent.resources)
    stranger.id = agent.id
    stranger.update("t", framework.id, FINISHED)
    assert framework.take() == []
    assert any("not from a registered agent" in line for line in world.log)


def test_kill_reaches_the_agent_with_its_policy() -> None:
    world = World()
    framework, agent = running(world)
    policy = mesos_pb2.KillPolicy(grace_period=mesos_pb2.DurationInfo(nanoseconds=7))
    framework.call("KILL", task_id=mesos_pb2.TaskID(value="t"), kill_policy=policy)
    [kill] = agent.take(internal_pb2.KillTaskMessage)
    assert (kill.task_id.value, kill.kill_policy.grace_period.nanoseconds) == ("t", 7)


def test_a_kill_while_the_agent_is_away_is_sent_when_it_returns() -> None:
    world = World()
    framework, agent = running(world, framework_info(checkpoint=True))
    tasks = [one.message for one in world.core.books.frameworks[framework.id].tasks.values()]
    agent.break_link()
    framework.call("KILL", task_id=mesos_pb2.TaskID(value="t"))
    assert agent.take(internal_pb2.KillTaskMessage) == []
    agent.reregister(tasks)
    heard = [type(message) for message in agent.take(Message)]
    assert heard.count(internal_pb2.KillTaskMessage) == 1
    # What comes before the confirmation an agent drops
    assert heard.index(internal_pb2.SlaveReregisteredMessage) < heard.index(internal_pb2.KillTaskMessage)


def test_a_kill_on_the_wrong_agent_is_ignored_and_one_of_an_unknown_task_is_reconciled() -> None:
    world = World()
    framework, agent = running(world)
    wrong = mesos_pb2.AgentID(value="other")
    framework.call("KILL", task_id=mesos_pb2.TaskID(value="t"), agent_id=wrong)
    assert agent.take(internal_pb2.KillTaskMessage) == []
    framework.call("KILL", task_id=mesos_pb2.TaskID(value="x"), agent_id=mesos_pb2.AgentID(value=agent.id))
    assert framework.states() == ["TASK_GONE"]


def test_explicit_reconciliation_answers_each_kind_of_task() -> None:
    world = World()
    framework, agent = running(world)
    gone = world.register(port=6000)
    for _ in range(8):
        world.wait(15)
        agent.pong()
    framework.take()
    wanted = [("t", agent.id), ("a", agent.id), ("b", gone.id), ("c", "other"), ("d", None)]
    calls = []
    for task_id, agent_id in wanted:
        one = scheduler_pb2.Call.Reconcile.Task()
        one.task_id.value = task_id
        if agent_id is not None:
            one.agent_id.value = agent_id
        calls.append(one)
    framework.call("RECONCILE", tasks=calls)
    statuses = framework.take_statuses()
    assert [state_name(status.state) for status in statuses] == [
        "TASK_RUNNING",
        "TASK_GONE",
        "TASK_UNREACHABLE",
        "TASK_UNKNOWN",
        "TASK_UNKNOWN",
    ]
    assert all(not status.HasField("uuid") for status in statuses)
    assert statuses[2].unreachable_time.nanoseconds > 0


def test_implicit_reconciliation_says_the_last_forwarded_state() -> None:
    world = World()
    framework, agent = running(world)
    agent.update("t", framework.id, RUNNING, latest=FINISHED)
    framework.take()
    framework.call("RECONCILE")
    [status] = framework.take_statuses()
    assert described(status) == (
        "TASK_RUNNING",
        "SOURCE_MASTER",
        "REASON_RECONCILIATION",
        "Reconciliation: Latest task state",
    )


def test_custom_executors_are_counted_once_and_their_end_is_told() -> None:
    world = World()
    agent = world.register("cpus:4;mem:1000")
    framework = world.subscribe()
    offers = framework.take_offers()
    tasks = [task("a", offers[0], "cpus:1"), task("b", offers[0], "cpus:1")]
    for one in tasks:
        one.ClearField("command")
        one.executor.executor_id.value = "e"
        one.executor.command.value = "run"
        one.executor.resources.extend(task("x", offers[0], "cpus:1").resources)
    framework.accept(offers, tasks)
    assert [run.launch_executor for run in agent.take(internal_pb2.RunTaskMessage)] == [True, False]
    assert world.core.books.agents[AgentId(agent.id)].used().scalar("cpus") == 3000
    exited = internal_pb2.ExitedExecutorMessage(status=9)
    exited.slave_id.value, exited.framework_id.value, exited.executor_id.value = agent.id, framework.id, "e"
    agent.say(exited)
    [failure] = [event.failure for event in framework.take() if event.type == Event.FAILURE]
    assert (failure.executor_id.value, failure.status) == ("e", 9)
    assert world.core.books.agents[AgentId(agent.id)].used().scalar("cpus") == 2000


def test_messages_between_framework_and_executor_pass_through() -> None:
    world = World()
    framework, agent = running(world)
    here, there = mesos_pb2.AgentID(value=agent.id), mesos_pb2.ExecutorID(value="t")
    framework.call("MESSAGE", agent_id=here, executor_id=there, data=b"\xff\x00")
    [out] = agent.take(internal_pb2.FrameworkToExecutorMessage)
    assert out.data == b"\xff\x00"
    back = internal_pb2.ExecutorToFrameworkMessage(data=b"back")
    back.slave_id.value, back.framework_id.value, back.executor_id.value = agent.id, framework.id, "t"
    agent.say(back)
    [event] = framework.take()
    assert event.message.data == b"back"


@pytest.mark.parametrize("is_aware", [True, False])
def test_tasks_of_invalid_offers_are_dropped(is_aware: bool) -> None:
    world = World()
    world.register()
    framework = world.subscribe(framework_info(capabilities=MODERN if is_aware else ()))
    offers = framework.take_offers()
    unknown = mesos_pb2.Offer()
    unknown.CopyFrom(offers[0])
    unknown.id.value = "no-such-offer"
    framework.accept([offers[0], unknown], [task("t", offers[0])])
    [status] = framework.take_statuses()
    assert described(status) == (
        "TASK_DROPPED" if is_aware else "TASK_LOST",
        "SOURCE_MASTER",
        "REASON_INVALID_OFFERS",
        "Task launched with invalid offers: Offer no-such-offer is no longer valid",
    )
    assert not world.core.books.offers


def test_a_refused_task_leaves_the_others_of_its_launch_alone() -> None:
    world = World()
    world.register("cpus:2;mem:1000")
    framework = world.subscribe()
    offers = framework.take_offers()
    framework.accept(offers, [task("a", offers[0]), task("b", offers[0], "cpus:5"), task("c", offers[0])])
    [status] = framework.take_statuses()
    assert status.task_id.value == "b"
    assert set(world.core.books.frameworks[framework.id].tasks) == {"a", "c"}


def test_one_malformed_resource_spoils_all_tasks_of_its_launch() -> None:
    world = World()
    world.register()
    framework = world.subscribe()
    offers = framework.take_offers()
    bad = task("bad", offers[0])
    bad.resources[0].scalar.value = -1
    framework.accept(offers, [bad, task("good", offers[0])])
    statuses = framework.take_statuses()
    assert [status.task_id.value for status in statuses] == ["bad", "good"]
    assert {status.message for status in statuses} == {
        "Resource 'cpus:-1' is invalid: Invalid scalar resource: value <= 0"
    }


def test_an_operation_that_is_not_part_of_this_master_is_refused_with_a_text() -> None:
    world = World()
    world.register()
    framework = world.subscribe()
    [offer] = framework.take_offers()
    operation = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.RESERVE)
    operation.id.value = "op"
    operation.reserve.SetInParent()
    framework.call("ACCEPT", offer_ids=[offer.id], operations=[operation])
    [event] = [one for one in framework.take() if one.type == Event.UPDATE_OPERATION_STATUS]
    status = event.update_operation_status.status
    assert status.state == mesos_pb2.OPERATION_ERROR
    assert status.message == "RESERVE is not supported by this master"


def test_mesos_metrics_count_what_happened() -> None:
    world = World()
    framework, agent = running(world)
    agent.update("t", framework.id, FINISHED)
    framework.acknowledge(framework.take_statuses()[-1])
    framework.call("REVIVE")
    counts = world.core.books.counts
    names = (
        "messages_register_framework",
        "messages_register_slave",
        "messages_launch_tasks",
        "messages_status_update",
        "messages_status_update_acknowledgement",
        "messages_revive_offers",
        "valid_status_updates",
        "tasks_finished",
        "slave_registrations",
    )
    assert {name: counts[name] for name in names} == dict.fromkeys(names, 1) | {
        "messages_status_update": 2,
        "valid_status_updates": 2,
    }

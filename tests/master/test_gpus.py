"""GPUs at the master: whole ones only, shown to those who ask, and counted in shares unless the flag says not to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.master.builders import executor_info, group_of, launch_of, with_executor
from tests.master.world import MODERN, Framework, World, flags, framework_info, task
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

Capability = mesos_pb2.FrameworkInfo.Capability
Operation = mesos_pb2.Offer.Operation
AGENT = "cpus:8;mem:4096;disk:1000;gpus:4"
NOT_WHOLE = "The 'gpus' resource must be an unsigned integer"
GPU_AWARE = (*MODERN, Capability.GPU_RESOURCES)


def subscribe(world: World, role: str = "*", *, gpu_aware: bool = True) -> Framework:
    return world.subscribe(framework_info(role=role, capabilities=GPU_AWARE if gpu_aware else MODERN))


def gpus(value: float) -> mesos_pb2.Resource:
    """As a client may write it: `Resources` knows thousandths only."""
    resource = mesos_pb2.Resource(name="gpus", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = value
    return resource


def perform(build: Callable[[mesos_pb2.Offer, str], Operation]) -> tuple[Framework, World]:
    world = World()
    world.register(AGENT)
    framework = subscribe(world)
    [offer] = framework.take_offers()
    framework.call("ACCEPT", offer_ids=[offer.id], operations=[build(offer, framework.id)])
    return framework, world


@pytest.mark.parametrize("value", [0.1, 0.5, 0.9995, 1.5, 1.0004])
def test_a_task_with_a_part_of_a_card_is_refused(value: float) -> None:
    def build(offer: mesos_pb2.Offer, _: str) -> Operation:
        info = task("t", offer)
        info.resources.append(gpus(value))
        return launch_of([info])

    framework, _ = perform(build)
    [status] = framework.take_statuses()
    assert (status.state, status.reason) == (mesos_pb2.TASK_ERROR, mesos_pb2.TaskStatus.REASON_TASK_INVALID)
    assert status.source == mesos_pb2.TaskStatus.SOURCE_MASTER
    assert status.message == f"Task uses invalid resources: Invalid 'gpus' resource: {NOT_WHOLE}"


def test_less_than_nothing_is_refused() -> None:
    def build(offer: mesos_pb2.Offer, _: str) -> Operation:
        info = task("t", offer)
        info.resources.append(gpus(-1))
        return launch_of([info])

    framework, _ = perform(build)
    [status] = framework.take_statuses()
    assert status.message == "Resource 'gpus:-1' is invalid: Invalid scalar resource: value <= 0"


@pytest.mark.parametrize("values", [(1.000,), (2.0,), (0.3, 0.7)])
def test_whole_cards_are_launched_and_their_sum_counts(values: tuple[float, ...]) -> None:
    def build(offer: mesos_pb2.Offer, _: str) -> Operation:
        info = task("t", offer)
        info.resources.extend(map(gpus, values))
        return launch_of([info])

    framework, world = perform(build)
    assert framework.take_statuses() == []
    [agent] = world.core.books.agents.values()
    assert agent.used().scalar("gpus") == round(sum(values)) * 1000


def test_an_executor_with_a_part_of_a_card_is_refused() -> None:
    def build(offer: mesos_pb2.Offer, framework_id: str) -> Operation:
        executor = executor_info("e", framework_id, is_default=False)
        executor.resources.append(gpus(0.5))
        return launch_of(with_executor([task("t", offer)], executor))

    framework, _ = perform(build)
    [status] = framework.take_statuses()
    assert status.message == f"Executor uses invalid resources: Invalid 'gpus' resource: {NOT_WHOLE}"


@pytest.mark.parametrize("holder", ["member", "executor"])
def test_a_group_with_a_part_of_a_card_is_refused_whole(holder: str) -> None:
    def build(offer: mesos_pb2.Offer, framework_id: str) -> Operation:
        executor = executor_info("e", framework_id, is_default=True)
        tasks = [task("a", offer), task("b", offer)]
        (tasks[1] if holder == "member" else executor).resources.append(gpus(0.5))
        return group_of(tasks, executor)

    framework, _ = perform(build)
    statuses = framework.take_statuses()
    assert [status.task_id.value for status in statuses] == ["a", "b"]
    assert {status.reason for status in statuses} == {mesos_pb2.TaskStatus.REASON_TASK_GROUP_INVALID}
    assert all(NOT_WHOLE in status.message for status in statuses)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, f"Invalid resources: Invalid 'gpus' resource: {NOT_WHOLE}"),
        (-1.0, "Invalid resources: Resource 'gpus:-1' is invalid: Invalid scalar resource: value <= 0"),
        (1.0, "RESERVE is not supported by this master"),
    ],
)
def test_a_reservation_of_a_part_of_a_card_is_refused_for_that(value: float, text: str) -> None:
    def build(_: mesos_pb2.Offer, __: str) -> Operation:
        operation = Operation(type=Operation.RESERVE)
        operation.id.value = "op"
        operation.reserve.resources.append(gpus(value))
        return operation

    framework, _ = perform(build)
    [event] = [one for one in framework.take() if one.type == scheduler_pb2.Event.UPDATE_OPERATION_STATUS]
    assert event.update_operation_status.status.message == text


def test_the_filter_looks_at_all_cards_of_an_agent_not_at_the_free_ones() -> None:
    world = World()
    agent = world.register("cpus:8;mem:4096;gpus:1")
    plain, aware = subscribe(world, gpu_aware=False), subscribe(world)
    [offer] = aware.take_offers()
    aware.accept([offer], [task("t", offer, "cpus:1;mem:64;gpus:1")], refuse_s=1000.0)
    world.wait(5)
    assert agent.take(internal_pb2.RunTaskMessage)
    assert plain.take_offers() == []


def test_the_filter_hides_what_is_reserved_to_the_frameworks_role_too() -> None:
    world = World()
    plain = subscribe(world, "r", gpu_aware=False)
    world.register("cpus(r):8;mem(r):4096;gpus:1")
    assert plain.take_offers() == []


def test_the_filter_follows_an_agents_total() -> None:
    world = World()
    plain = subscribe(world, gpu_aware=False)
    agent = world.register("cpus:8;mem:4096;gpus:1")
    assert plain.take_offers() == []
    agent.resources = "cpus:8;mem:4096"
    agent.break_link()
    agent.reregister()
    world.wait(1)
    assert len(plain.take_offers()) == 1


@pytest.mark.parametrize(("excluded", "next_one"), [(None, "light"), (("gpus",), "heavy")])
def test_cards_count_in_fair_shares_unless_they_are_excluded(excluded: tuple[str, ...] | None, next_one: str) -> None:
    """`heavy` holds most cards and few cpus, `light` no cards and more cpus: who is behind depends on the flag."""
    world = World(flags(fair_sharing_excluded_resource_names=excluded))
    frameworks = {name: subscribe(world, name) for name in ("heavy", "light")}
    world.register("cpus:100;mem:100000;gpus:4")
    wanted = {"heavy": "cpus:1;mem:64;gpus:3", "light": "cpus:20;mem:64"}
    while not all(world.core.books.frameworks[one.id].tasks for one in frameworks.values()):
        for name, framework in frameworks.items():
            is_done = world.core.books.frameworks[framework.id].tasks
            for offer in framework.take_offers():
                framework.accept([offer], [] if is_done else [task(name, offer, wanted[name])], refuse_s=0.0)
        world.wait(1)
    got = [name for name, framework in frameworks.items() if framework.take_offers()]
    assert got == [next_one]

"""The core of mesos-execute: which offer, what is said, when it is over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.cli.execute.core import (
    Accept,
    Acknowledge,
    Action,
    Decline,
    ExecuteCore,
    Kill,
    Note,
    Over,
    Print,
    StartKillTimer,
    Suppress,
)
from tfmesos.cli.execute.flags import ExecuteFlags
from tfmesos.cli.execute.request import build_request
from tfmesos.flags import load_flags
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

FRAMEWORK = mesos_pb2.FrameworkID(value="F")


def core_of(*words: str) -> ExecuteCore:
    flags = load_flags(ExecuteFlags, ["--master=h:1", *(words or ("--name=t", "--command=true"))], None)
    core = ExecuteCore(build_request(flags))
    core.subscribed(FRAMEWORK)
    return core


def offer(number: int, resources: str = "cpus:2;mem:256", role: str = "*") -> mesos_pb2.Offer:
    message = mesos_pb2.Offer(
        id=mesos_pb2.OfferID(value=f"O{number}"),
        framework_id=FRAMEWORK,
        agent_id=mesos_pb2.AgentID(value=f"S{number}"),
        hostname=f"host{number}",
    )
    message.resources.extend(Resources.parse(resources).to_proto("post", role))
    return message


def status(state: int, task: str = "t", uuid: bytes = b"0123456789abcdef") -> mesos_pb2.TaskStatus:
    message = mesos_pb2.TaskStatus(
        task_id=mesos_pb2.TaskID(value=task), agent_id=mesos_pb2.AgentID(value="S0"), uuid=uuid
    )
    message.state = state  # type: ignore[assignment]
    return message


def printed(actions: list[Action]) -> list[str]:
    return [action.text for action in actions if isinstance(action, Print)]


def test_it_says_its_id() -> None:
    assert ExecuteCore.subscribed(core_of(), FRAMEWORK) == [Print("Subscribed with ID F")]


def test_the_first_offer_that_fits_is_used_and_the_others_are_declined_and_suppressed() -> None:
    actions = core_of().offers_arrived([offer(0, "cpus:0.5;mem:256"), offer(1), offer(2)])

    accept, text, decline, suppress = actions
    assert isinstance(accept, Accept)
    assert accept.offer_id.value == "O1"
    (task,) = accept.operation.launch.task_infos
    assert task.agent_id.value == "S1"
    assert [(each.name, each.scalar.value) for each in task.resources] == [("cpus", 1.0), ("mem", 128.0)]
    assert not any(each.HasField("allocation_info") for each in task.resources)
    assert text == Print("Submitted task 't' to agent 'S1'")
    assert isinstance(decline, Decline)
    assert [each.value for each in decline.offer_ids] == ["O0", "O2"]
    assert suppress == Suppress()


def test_an_offer_that_does_not_fit_is_declined_for_a_while_and_the_reason_is_told_once() -> None:
    core = core_of("--name=t", "--command=true", "--resources=cpus:9;mem:128;gpus:1")

    first, again = core.offers_arrived([offer(0)]), core.offers_arrived([offer(0)])

    assert first == [
        Decline((mesos_pb2.OfferID(value="O0"),), 5.0),
        Note(
            "The offer of agent 'S0' (host0) does not fit: it lacks cpus (9 needed, 2 offered), "
            "gpus (1 needed, 0 offered). Still waiting."
        ),
    ]
    assert again == first[:1]


def test_a_later_offer_that_fits_is_used() -> None:
    core = core_of()
    core.offers_arrived([offer(0, "cpus:0.1")])

    assert isinstance(core.offers_arrived([offer(1)])[0], Accept)


def test_missing_ports_are_named() -> None:
    core = core_of("--name=t", "--command=true", "--resources=cpus:1;mem:1;ports:[5-7]")

    (_, note) = core.offers_arrived([offer(0, "cpus:2;mem:1;ports:[5-6]")])

    assert isinstance(note, Note)
    assert "lacks ports [7-7]" in note.text


def test_resources_reserved_to_the_role_are_used_first() -> None:
    core = core_of("--name=t", "--command=true", "--role=dev", "--resources=cpus:2;mem:1")

    accept = core.offers_arrived([offer(0, "cpus:1;cpus(dev):1.5;mem:1", "dev")])[0]

    assert isinstance(accept, Accept)
    used = [
        (each.scalar.value, [layer.role for layer in each.reservations])
        for each in accept.operation.launch.task_infos[0].resources
        if each.name == "cpus"
    ]
    assert sorted(used) == [(0.5, []), (1.5, ["dev"])]


def test_resources_of_another_role_do_not_fit() -> None:
    core = core_of("--name=t", "--command=true", "--role=dev", "--resources=cpus:2;mem:1")

    assert not any(isinstance(each, Accept) for each in core.offers_arrived([offer(0, "cpus(ops):4;mem:1", "dev")]))


def test_old_resources_with_a_role_are_converted() -> None:
    task = (
        '{"name":"o","task_id":{"value":"o"},"agent_id":{"value":""},"command":{"value":"true"},'
        '"resources":[{"name":"cpus","type":"SCALAR","scalar":{"value":0.2},"role":"*"}]}'
    )

    accept = core_of(f"--task={task}").offers_arrived([offer(0)])[0]

    assert isinstance(accept, Accept)
    (resource,) = accept.operation.launch.task_infos[0].resources
    assert not resource.HasField("role")


def group(*names: str) -> str:
    tasks = ",".join(
        f'{{"name":"{name}","task_id":{{"value":"{name}"}},"agent_id":{{"value":""}},"command":{{"value":"true"}},'
        f'"resources":[{{"name":"cpus","type":"SCALAR","scalar":{{"value":0.5}}}}]}}'
        for name in names
    )
    return f'--task_group={{"tasks":[{tasks}]}}'


def test_a_group_is_launched_as_one_and_its_executor_must_fit_too() -> None:
    core = core_of(group("a", "b"))

    tight = core.offers_arrived([offer(0, "cpus:1;mem:64;disk:64")])
    accept, text = core.offers_arrived([offer(1, "cpus:1.1;mem:64;disk:64")])

    assert isinstance(tight[0], Decline)
    assert isinstance(accept, Accept)
    assert accept.operation.launch_group.executor.framework_id.value == "F"
    assert [task.agent_id.value for task in accept.operation.launch_group.task_group.tasks] == ["S1", "S1"]
    assert text == Print("Submitted task group with tasks [ a, b ] to agent 'S1'")


def test_a_group_is_over_when_all_its_tasks_are() -> None:
    core = core_of(group("a", "b"))

    first = core.updated(status(mesos_pb2.TASK_FINISHED, "a"))
    second = core.updated(status(mesos_pb2.TASK_FAILED, "b"))

    assert not any(isinstance(each, Over) for each in first)
    assert second[-1] == Over(1)


def test_a_status_is_printed_as_stock_mesos_does() -> None:
    message = status(mesos_pb2.TASK_FAILED)
    message.message = "Command exited with status 3"
    message.source = mesos_pb2.TaskStatus.SOURCE_EXECUTOR
    message.reason = mesos_pb2.TaskStatus.REASON_COMMAND_EXECUTOR_FAILED
    message.healthy = False
    message.limitation.resources.extend(Resources.parse("mem:128").to_proto())

    assert printed(core_of().updated(message)) == [
        "Received status update TASK_FAILED for task 't'\n"
        "  message: 'Command exited with status 3'\n"
        "  source: SOURCE_EXECUTOR\n"
        "  reason: REASON_COMMAND_EXECUTOR_FAILED\n"
        "  healthy?: 0\n"
        "  resource limit violation: mem:128"
    ]


@pytest.mark.parametrize(
    ("state", "exit_status"),
    [
        (mesos_pb2.TASK_FINISHED, 0),
        (mesos_pb2.TASK_FAILED, 1),
        (mesos_pb2.TASK_KILLED, 1),
        (mesos_pb2.TASK_ERROR, 1),
        (mesos_pb2.TASK_LOST, 1),
        (mesos_pb2.TASK_DROPPED, 1),
        (mesos_pb2.TASK_GONE, 1),
        (mesos_pb2.TASK_GONE_BY_OPERATOR, 1),
    ],
)
def test_final_states_end_it(state: int, exit_status: int) -> None:
    assert core_of().updated(status(state))[-1] == Over(exit_status)


@pytest.mark.parametrize(
    "state", [mesos_pb2.TASK_STARTING, mesos_pb2.TASK_KILLING, mesos_pb2.TASK_UNREACHABLE, mesos_pb2.TASK_UNKNOWN]
)
def test_other_states_do_not(state: int) -> None:
    assert not any(isinstance(each, Over) for each in core_of().updated(status(state)))


@pytest.mark.parametrize(("uuid", "is_acknowledged"), [(b"0123456789abcdef", True), (b"", False)])
def test_only_a_status_with_a_uuid_is_acknowledged(uuid: bytes, is_acknowledged: bool) -> None:
    actions = core_of().updated(status(mesos_pb2.TASK_RUNNING, uuid=uuid))

    assert any(isinstance(each, Acknowledge) for each in actions) is is_acknowledged


def test_kill_after_starts_with_each_running_and_ends_with_the_task() -> None:
    core = core_of("--name=t", "--command=true", "--kill_after=30secs")

    actions = core.updated(status(mesos_pb2.TASK_RUNNING))
    (timer,) = [each for each in actions if isinstance(each, StartKillTimer)]
    kill, text = core.kill_due(timer.status)

    assert timer.after_s == 30
    assert isinstance(kill, Kill)
    assert text == Print("Asked to kill task 't' on agent 'S0'")
    core.updated(status(mesos_pb2.TASK_KILLED))
    assert core.kill_due(timer.status) == []


def test_a_launch_that_never_reached_the_master_is_tried_again() -> None:
    core = core_of()
    core.offers_arrived([offer(0)])

    assert isinstance(core.launch_lost()[0], Note)
    assert isinstance(core.offers_arrived([offer(1)])[0], Accept)


@given(st.lists(st.lists(st.sampled_from(["cpus:0.5;mem:64", "cpus:4;mem:512", "cpus(x):4;mem:512"]), max_size=4)))
def test_every_offer_is_answered_once_and_one_at_most_is_used(batches: list[list[str]]) -> None:
    core = core_of()
    number = 0
    used = 0
    for batch in batches:
        offers = [offer(number + index, text) for index, text in enumerate(batch)]
        number += len(batch)
        actions = core.offers_arrived(offers)
        accepted = [each.offer_id.value for each in actions if isinstance(each, Accept)]
        declined = [one.value for each in actions if isinstance(each, Decline) for one in each.offer_ids]
        used += len(accepted)
        assert sorted(accepted + declined) == sorted(each.id.value for each in offers)
    assert used <= 1

"""What an agent keeps is what the next one finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmesos.agent.checkpoint import (
    AgentKept,
    CheckpointStore,
    DrainKept,
    ExecutorEnding,
    ExecutorForgotten,
    ExecutorKept,
    Fact,
    FrameworkEnding,
    FrameworkForgotten,
    FrameworkKept,
    Recovered,
    ReservationsKept,
    TaskForgotten,
    TaskKept,
    TaskKillAsked,
    TaskSent,
    UpdateAcknowledged,
    UpdateQueued,
)
from tfmesos.agent.checkpoint.state import CheckpointState
from tfmesos.agent.errors import CheckpointUnusable
from tfmesos.wire import internal_pb2, mesos_pb2

FRAMEWORKS = st.sampled_from(["f1", "f2", "f3"])
FRAMEWORK_OF = {"c1": "f1", "c2": "f1", "c3": "f2"}
CONTAINERS = st.sampled_from(["c1", "c2", "c3"])
TASKS = st.sampled_from(["t1", "t2", "t3"])
TIMES = st.floats(0, 2e9)


def agent_info(agent_id: str) -> mesos_pb2.AgentInfo:
    info = mesos_pb2.AgentInfo(hostname="here", port=5051)
    info.id.value = agent_id
    return info


def framework_info(framework_id: str, name: str = "f") -> mesos_pb2.FrameworkInfo:
    info = mesos_pb2.FrameworkInfo(user="root", name=name, checkpoint=True)
    info.id.value = framework_id
    return info


def executor_info(executor_id: str) -> mesos_pb2.ExecutorInfo:
    info = mesos_pb2.ExecutorInfo()
    info.executor_id.value = executor_id
    return info


def task_info(task_id: str) -> mesos_pb2.TaskInfo:
    info = mesos_pb2.TaskInfo(name=task_id)
    info.task_id.value, info.agent_id.value = task_id, "a"
    return info


def update(
    framework_id: str, task_id: str, state: mesos_pb2.TaskState.ValueType, uuid: bytes
) -> internal_pb2.StatusUpdate:
    message = internal_pb2.StatusUpdate(timestamp=1.0, uuid=uuid)
    message.framework_id.value = framework_id
    message.status.task_id.value = task_id
    message.status.state = state
    return message


STATES = st.sampled_from([mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED])
UUIDS = st.sampled_from([b"u1", b"u2", b"u3"])
DRAIN = internal_pb2.DrainSlaveMessage(config=mesos_pb2.DrainConfig())
FACTS: st.SearchStrategy[Fact] = st.one_of(
    st.builds(AgentKept, info=st.sampled_from(["a", "b"]).map(agent_info), boot_id=st.just("boot")),
    st.builds(ReservationsKept, message=st.just(internal_pb2.CheckpointResourcesMessage())),
    st.builds(DrainKept, message=st.none() | st.just(DRAIN)),
    st.builds(FrameworkKept, info=st.builds(framework_info, FRAMEWORKS, st.sampled_from("xy"))),
    st.builds(FrameworkEnding, framework_id=FRAMEWORKS),
    st.builds(FrameworkForgotten, framework_id=FRAMEWORKS),
    st.builds(
        lambda container_id, is_command: ExecutorKept(
            framework_id=FRAMEWORK_OF[container_id],
            container_id=container_id,
            info=executor_info("e"),
            is_command=is_command,
        ),
        CONTAINERS,
        st.booleans(),
    ),
    st.builds(ExecutorEnding, container_id=CONTAINERS, at_s=TIMES, grace_s=TIMES),
    st.builds(ExecutorForgotten, container_id=CONTAINERS),
    st.builds(
        TaskKept,
        framework_id=FRAMEWORKS,
        container_id=CONTAINERS,
        info=TASKS.map(task_info),
        group=st.integers(0, 2),
    ),
    st.builds(TaskSent, framework_id=FRAMEWORKS, task_id=TASKS),
    st.builds(
        TaskKillAsked, framework_id=FRAMEWORKS, task_id=TASKS, at_s=TIMES, grace_s=TIMES, is_overdue=st.booleans()
    ),
    st.builds(UpdateQueued, update=st.builds(update, FRAMEWORKS, TASKS, STATES, UUIDS)),
    st.builds(UpdateAcknowledged, framework_id=FRAMEWORKS, task_id=TASKS, uuid=UUIDS),
    st.builds(TaskForgotten, framework_id=FRAMEWORKS, task_id=TASKS),
)

A_TASK_THAT_RUNS: list[Fact] = [
    AgentKept(info=agent_info("a"), boot_id="boot"),
    FrameworkKept(info=framework_info("f1")),
    ExecutorKept(framework_id="f1", container_id="c1", info=executor_info("t1"), is_command=True),
    TaskKept(framework_id="f1", container_id="c1", info=task_info("t1")),
    UpdateQueued(update=update("f1", "t1", mesos_pb2.TASK_STARTING, b"u1")),
    UpdateAcknowledged(framework_id="f1", task_id="t1", uuid=b"u1"),
    UpdateQueued(update=update("f1", "t1", mesos_pb2.TASK_RUNNING, b"u2")),
]


def opened(work_dir: Path, *, is_strict: bool = True) -> CheckpointStore:
    return CheckpointStore.open(work_dir, is_strict=is_strict, max_completed_frameworks=2)


def kept(work_dir: Path, facts: list[Fact]) -> Recovered:
    """What the agent that kept these facts knew when it was killed."""
    store = opened(work_dir)
    for fact in facts:
        store.keep(fact)
    store.close()
    return store.recovered()


def read(work_dir: Path, *, is_strict: bool = True) -> Recovered:
    store = opened(work_dir, is_strict=is_strict)
    store.close()
    return store.recovered()


@settings(max_examples=150, deadline=None)
@given(facts=st.lists(FACTS, max_size=40))
def test_a_state_told_again_as_facts_is_the_same_state(facts: list[Fact]) -> None:
    state = CheckpointState(2, facts)

    assert state.copy() == state.sum
    assert len(list(state.facts())) <= len(facts)


@settings(max_examples=40, deadline=None)
@given(facts=st.lists(FACTS, max_size=20))
def test_the_next_agent_finds_what_was_kept(tmp_path_factory: pytest.TempPathFactory, facts: list[Fact]) -> None:
    work_dir = tmp_path_factory.mktemp("agent")

    assert kept(work_dir, facts) == read(work_dir)


def test_a_task_is_found_with_its_updates_and_its_executor(tmp_path: Path) -> None:
    kept(tmp_path, A_TASK_THAT_RUNS)

    found = read(tmp_path)

    framework = found.frameworks["f1"]
    task = framework.tasks["t1"]
    assert found.agent == agent_info("a")
    assert (task.info, task.container_id) == (task_info("t1"), "c1")
    assert [one.uuid for one in task.acknowledged] == [b"u1"]
    assert [one.uuid for one in task.pending] == [b"u2"]
    assert framework.executors["c1"].is_command


def test_an_executor_takes_its_tasks_with_it_and_a_framework_is_completed(tmp_path: Path) -> None:
    kept(tmp_path, [*A_TASK_THAT_RUNS, ExecutorForgotten(container_id="c1"), FrameworkForgotten(framework_id="f1")])

    found = read(tmp_path)

    assert found.frameworks == {}
    assert list(found.completed) == ["f1"]


def test_another_agent_id_makes_the_rest_void(tmp_path: Path) -> None:
    kept(tmp_path, [*A_TASK_THAT_RUNS, AgentKept(info=agent_info("b"), boot_id="boot")])

    assert read(tmp_path) == Recovered(agent=agent_info("b"), boot_id="boot")


def test_a_million_health_updates_are_not_kept(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for fact in A_TASK_THAT_RUNS:
        store.keep(fact)
    for number in range(3, 3000):
        uuid = number.to_bytes(16)
        store.keep(UpdateQueued(update=update("f1", "t1", mesos_pb2.TASK_RUNNING, uuid)))
        store.keep(UpdateAcknowledged(framework_id="f1", task_id="t1", uuid=uuid))
    store.close()

    assert len(read(tmp_path).frameworks["f1"].tasks["t1"].updates) == 4


def test_damage_is_refused_by_name_unless_it_may_be_left_out(tmp_path: Path) -> None:
    kept(tmp_path, A_TASK_THAT_RUNS)
    path = tmp_path / "meta" / "agent.journal"
    contents = bytearray(path.read_bytes())
    contents[contents.index(b"c1")] ^= 1
    path.write_bytes(contents)

    with pytest.raises(CheckpointUnusable, match=f"cannot recover from {path}: damaged at byte"):
        opened(tmp_path)
    found = read(tmp_path, is_strict=False)
    assert found.agent == agent_info("a")
    assert found.frameworks["f1"].executors == {}
    assert read(tmp_path) == found  # the next agent need not be told again


def test_a_format_of_the_future_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "agent.journal").write_bytes(b"tfmesos-journal agent 2\n")

    with pytest.raises(CheckpointUnusable, match="found agent format 2, expected agent format 1"):
        opened(tmp_path, is_strict=False)


def test_what_is_cleared_is_gone(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.keep(A_TASK_THAT_RUNS[0])
    store.clear()
    store.close()

    assert read(tmp_path) == Recovered()

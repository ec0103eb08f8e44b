"""The registry on disk: the same state comes back, whatever happens to the process or the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmesos.master.core.registry import (
    AdmitAgent,
    EndFramework,
    ForgetDriver,
    KeepDriver,
    LoseAgent,
    MarkAgent,
    MarkAgentGone,
    Operation,
    RegistryState,
    RemoveAgent,
)
from tfmesos.master.errors import RegistryUnusable
from tfmesos.master.ids import AgentId, FrameworkId
from tfmesos.master.registrar import REGISTRY_FILE, Registrar
from tfmesos.wire import mesos_pb2, scheduler_pb2


def driver_info(framework_id: str) -> mesos_pb2.FrameworkInfo:
    return mesos_pb2.FrameworkInfo(user="u", name="n", id=mesos_pb2.FrameworkID(value=framework_id))


def agent_info(agent_id: str) -> mesos_pb2.AgentInfo:
    info = mesos_pb2.AgentInfo(hostname=f"host of {agent_id}", port=5051)
    info.id.value = agent_id
    return info


AGENT_IDS = st.sampled_from("abc").map(AgentId)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(AdmitAgent, info=AGENT_IDS.map(agent_info)),
    st.builds(RemoveAgent, agent_id=AGENT_IDS),
    st.builds(LoseAgent, agent_id=AGENT_IDS, at_s=st.floats(0, 2e9)),
    st.builds(MarkAgentGone, agent_id=AGENT_IDS, at_s=st.floats(0, 2e9)),
    st.builds(
        MarkAgent,
        agent_id=AGENT_IDS,
        is_deactivated=st.booleans(),
        drain=st.none() | st.just(mesos_pb2.DrainInfo(state=mesos_pb2.DRAINING, config=mesos_pb2.DrainConfig())),
        drain_started_s=st.none() | st.floats(0, 2e9),
    ),
    st.builds(EndFramework, framework_id=st.sampled_from("xyz").map(FrameworkId)),
    st.builds(
        KeepDriver,
        info=st.sampled_from("xyz").map(driver_info),
        pid=st.just("d@127.0.0.1:1"),
        constraints=st.none() | st.just(scheduler_pb2.OfferConstraints()),
    ),
    st.builds(ForgetDriver, framework_id=st.sampled_from("xyz").map(FrameworkId)),
)


def record(registrar: Registrar, operations: list[Operation]) -> None:
    for operation in operations:
        registrar.state.apply(operation)
        registrar.record(operation)


def read(work_dir: Path) -> RegistryState:
    registrar = Registrar.open(work_dir, 2)
    registrar.close()
    return registrar.state


@settings(max_examples=50, deadline=None)
@given(operations=st.lists(OPERATIONS, max_size=12))
def test_a_restarted_master_reads_the_same_state(
    tmp_path_factory: pytest.TempPathFactory, operations: list[Operation]
) -> None:
    work_dir = tmp_path_factory.mktemp("master")
    registrar = Registrar.open(work_dir, 2)
    record(registrar, operations)
    registrar.close()

    assert read(work_dir) == registrar.state


def test_a_file_cut_at_any_byte_gives_the_state_after_some_operation(tmp_path: Path) -> None:
    operations: list[Operation] = [
        AdmitAgent(info=agent_info("a"), pid="slave(1)@127.0.0.1:1"),
        AdmitAgent(info=agent_info("b"), pid="slave(1)@127.0.0.1:1"),
        MarkAgent(agent_id=AgentId("b"), is_deactivated=True),
        LoseAgent(agent_id=AgentId("a"), at_s=5.0),
        EndFramework(framework_id=FrameworkId("x")),
        MarkAgentGone(agent_id=AgentId("a"), at_s=7.0),
    ]
    states = [RegistryState(2)]
    for count in range(1, len(operations) + 1):
        states.append(RegistryState(2))
        for operation in operations[:count]:
            states[-1].apply(operation)
    registrar = Registrar.open(tmp_path, 2)
    record(registrar, operations)
    registrar.close()
    whole = (tmp_path / REGISTRY_FILE).read_bytes()

    seen = 0
    for cut in range(len(whole) + 1):
        (tmp_path / REGISTRY_FILE).write_bytes(whole[:cut])
        found = states.index(read(tmp_path))
        assert found >= seen
        seen = found
    assert seen == len(operations)


@pytest.mark.parametrize("contents", [b"tfmesos-journal agent 1\n", b"tfmesos-journal master-registry 9\n", b"LevelDB"])
def test_another_file_in_its_place_is_refused_by_name(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / REGISTRY_FILE
    path.write_bytes(contents)

    with pytest.raises(RegistryUnusable, match=f"cannot use the registry '{path}': found .* expected master-registry"):
        Registrar.open(tmp_path, 2)


def test_damage_is_told_with_what_to_do(tmp_path: Path) -> None:
    registrar = Registrar.open(tmp_path, 2)
    record(registrar, [AdmitAgent(info=agent_info(name), pid="slave(1)@127.0.0.1:1") for name in "ab"])
    registrar.close()
    path = tmp_path / REGISTRY_FILE
    contents = bytearray(path.read_bytes())
    contents[contents.index(b"host of a")] ^= 1
    path.write_bytes(contents)

    with pytest.raises(RegistryUnusable, match=r"damaged at byte .*; move the file away to start"):
        Registrar.open(tmp_path, 2)


def test_a_place_that_cannot_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(RegistryUnusable, match="No such file or directory"):
        Registrar.open(tmp_path / "nowhere", 2)

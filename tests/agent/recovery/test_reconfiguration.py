"""Which agents may go on under the id of the one before."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tfmesos.agent import AgentFlags
from tfmesos.agent.checkpoint import Recovered, RecoveredExecutor, RecoveredFramework
from tfmesos.agent.errors import AgentChanged, BadAgentFlags
from tfmesos.agent.recovery.reconfiguration import Policy, difference
from tfmesos.agent.recovery.restart import check_runtime_dir, recovered_id
from tfmesos.resources import Resources, parse_attributes
from tfmesos.wire import mesos_pb2

EQUAL, ADDITIVE = Policy


def agent(
    resources: str = "cpus:4;mem:1024;ports:[31000-32000]",
    attributes: str = "rack:a;level:3;slots:[1-5]",
    hostname: str = "here",
    port: int = 5051,
) -> mesos_pb2.AgentInfo:
    info = mesos_pb2.AgentInfo(hostname=hostname, port=port)
    info.resources.extend(Resources.parse(resources).to_proto("pre"))
    info.attributes.extend(parse_attributes(attributes))
    return info


@pytest.mark.parametrize("policy", Policy)
def test_the_same_agent_goes_on(policy: Policy) -> None:
    assert difference(agent(), agent(), policy, is_port_free=False) is None


@pytest.mark.parametrize(
    "now",
    [
        agent(resources="cpus:8;mem:1024;ports:[31000-32000]"),
        agent(resources="cpus:4;mem:1024;disk:10;ports:[31000-33000]"),
        agent(attributes="rack:a;level:3;slots:[1-5];new:x"),
        agent(attributes="rack:a;level:3;slots:[1-9]"),
    ],
)
def test_growth_needs_the_additive_policy(now: mesos_pb2.AgentInfo) -> None:
    assert difference(agent(), now, ADDITIVE, is_port_free=False) is None
    assert difference(agent(), now, EQUAL, is_port_free=False)


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(
    ("now", "fault"),
    [
        (agent(hostname="there"), "its hostname was here, now it is there"),
        (agent(port=6000), "its port was 5051, now it is 6000"),
        (agent(resources="cpus:2;mem:1024;ports:[31000-32000]"), "its resources were cpus:4"),
        (agent(attributes="rack:b;level:3;slots:[1-5]"), "its attribute rack has changed"),
        (agent(attributes="rack:a;level:4;slots:[1-5]"), "its attribute level has changed"),
        (agent(attributes="rack:a;level:3;slots:[2-5]"), "its attribute slots has changed"),
        (agent(attributes="rack:a;slots:[1-5]"), "attribute"),
    ],
)
def test_another_agent_does_not_go_on(policy: Policy, now: mesos_pb2.AgentInfo, fault: str) -> None:
    found = difference(agent(), now, policy, is_port_free=False)

    assert found is not None
    assert fault in found


def test_a_port_that_was_left_open_may_change() -> None:
    assert difference(agent(), agent(port=6000), EQUAL, is_port_free=True) is None


def identify(before: Recovered, now: mesos_pb2.AgentInfo, boot_id: str = "this boot") -> str | None:
    flags = AgentFlags(master="m", work_dir="/w")
    return recovered_id(before, now, boot_id=boot_id, flags=flags, path=str(Path("/w/meta/agent.journal")))


def remembered() -> Recovered:
    info = agent()
    info.id.value = "S7"
    return Recovered(agent=info, boot_id="this boot")


def test_without_an_agent_before_it_is_a_new_one() -> None:
    assert identify(Recovered(), agent()) is None


def test_the_id_is_kept_even_after_the_machine_was_started_again() -> None:
    assert identify(remembered(), agent()) == "S7"
    assert identify(remembered(), agent(), boot_id="next boot") == "S7"


def test_a_changed_agent_is_refused_and_told_what_to_do() -> None:
    with pytest.raises(AgentChanged) as refused:
        identify(remembered(), agent(hostname="there"))

    assert str(refused.value) == (
        "agent S7 was another one: its hostname was here, now it is there (--reconfiguration_policy=equal); start it "
        "with its old flags, or end its tasks by --recover=cleanup, or give its id up: rm -f /w/meta/agent.journal"
    )


def test_a_changed_agent_on_a_machine_that_was_started_again_is_a_new_one() -> None:
    assert identify(remembered(), agent(hostname="there"), boot_id="next boot") is None


def with_an_executor(runtime_dir: str) -> Recovered:
    before = remembered()
    before.runtime_dir = runtime_dir
    executor = RecoveredExecutor(info=mesos_pb2.ExecutorInfo(), container_id="c", is_command=True)
    before.frameworks["f"] = RecoveredFramework(info=mesos_pb2.FrameworkInfo(), executors={"c": executor})
    return before


def test_tasks_in_another_runtime_dir_are_not_given_up() -> None:
    with pytest.raises(BadAgentFlags) as refused:
        check_runtime_dir(with_an_executor("/run/a"), Path("/run/b"), boot_id="this boot")

    assert str(refused.value) == (
        "--runtime_dir: the tasks of the agent before are in /run/a, not in /run/b; start with --runtime_dir=/run/a"
    )


@pytest.mark.parametrize(
    ("before", "boot_id"),
    [
        (with_an_executor("/run/b"), "this boot"),
        (with_an_executor("/run/a"), "next boot"),
        (with_an_executor(""), "this boot"),
        (dataclasses.replace(remembered(), runtime_dir="/run/a"), "this boot"),
    ],
)
def test_a_runtime_dir_may_change_where_no_task_can_be_left(before: Recovered, boot_id: str) -> None:
    check_runtime_dir(before, Path("/run/b"), boot_id=boot_id)

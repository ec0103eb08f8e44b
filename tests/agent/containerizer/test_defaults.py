"""--default_container_info: what containers are that do not say it."""

from __future__ import annotations

import pytest

from tests.agent.containerizer.conftest import Configure
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.containerizer.defaults import parse_container_info, with_default_container
from tfmesos.agent.flags import AgentFlags
from tfmesos.flags import FlagError, load_flags
from tfmesos.wire import mesos_pb2

TEXT = '{"type":"MESOS","volumes":[{"mode":"RO","host_path":"/srv","container_path":"data"}]}'


def test_who_says_nothing_has_the_default(configure: Configure) -> None:
    default = parse_container_info(TEXT)
    own = mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.MESOS)

    assert with_default_container(configure("true"), default).container == default
    assert with_default_container(configure("true"), None).container is None
    assert with_default_container(configure("true", container=own), default).container == own
    assert with_default_container(configure("true", parent=ContainerId("p")), default).container is None


@pytest.mark.parametrize(("text", "fault"), [("[", "not a ContainerInfo: "), ("{}", "type"), ('{"type":"X"}', "X")])
def test_what_is_no_container_is_refused_when_the_agent_starts(text: str, fault: str) -> None:
    with pytest.raises(FlagError) as refused:
        load_flags(AgentFlags, ["--master=m", "--work_dir=w", f"--default_container_info={text}"], None)

    assert "Failed to load flag 'default_container_info'" in str(refused.value)
    assert fault in str(refused.value)


def test_the_flag_is_read_as_json() -> None:
    flags = load_flags(AgentFlags, ["--master=m", "--work_dir=w", f"--default_container_info={TEXT}"], None)

    assert flags.default_container_info == TEXT

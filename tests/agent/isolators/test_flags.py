"""Flags of what containers see."""

from __future__ import annotations

import pytest

from tfmesos.agent import AgentFlags
from tfmesos.flags import FlagError, flag_texts, load_flags


def load(*words: str) -> AgentFlags:
    return load_flags(AgentFlags, ["--master=m", "--work_dir=w", *words], None)


def test_flags_are_read_as_mesos_has_them() -> None:
    flags = load(
        "--sandbox_directory=/sandbox",
        "--host_path_volume_force_creation=/srv/a:/srv/b",
        "--default_container_shm_size=64MB",
        "--disallow_sharing_agent_pid_namespace",
        '--effective_capabilities={"capabilities":["KILL"]}',
    )

    assert flags.host_path_volume_force_creation == ("/srv/a", "/srv/b")
    assert flags.default_container_shm_size == 64 << 20
    assert flags.disallow_sharing_agent_pid_namespace
    texts = flag_texts(flags)
    assert texts["host_path_volume_force_creation"] == "/srv/a:/srv/b"
    assert texts["default_container_shm_size"] == "64MB"
    assert load().sandbox_directory == "/mnt/mesos/sandbox"


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("--sandbox_directory=sandbox", "an absolute path is wanted"),
        ("--sandbox_directory=/", "an absolute path is wanted"),
        ("--sandbox_directory=/a/../b", "an absolute path is wanted"),
        ("--host_path_volume_force_creation=/srv:data", "'data': an absolute path is wanted"),
        ("--default_container_shm_size=0B", "more than 0 is wanted"),
        ("--bounding_capabilities={}x", "not a JSON object"),
    ],
)
def test_what_cannot_be_meant_is_refused(word: str, fault: str) -> None:
    with pytest.raises(FlagError) as refused:
        load(word)

    assert fault in str(refused.value)

"""Which OCI runtime an agent takes, and what it says if there is none that works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.oci.seen import mounts
from tests.agent.waiting import eventually
from tests.cgroup_trees import cgroups_below
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.oci.finding import fault_of, find_program
from tfmesos.agent.oci.rights import Rights

pytestmark = [pytest.mark.root, pytest.mark.cgroups, pytest.mark.usefixtures("cgroups_root")]


@pytest.fixture
def rights() -> Rights:
    return Rights.read()


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def test_runc_is_taken_without_a_trace(rights: Rights) -> None:
    assert os.path.basename(find_program(None, rights)) == "runc"
    assert "/tfmesos-oci-" not in mounts()
    left = set(cgroups_below("tfmesos-*"))  # others may look at this moment
    await eventually(lambda: not left & set(cgroups_below("tfmesos-*")))


def test_another_one_is_taken_where_the_first_does_not_work(rights: Rights, tmp_path: Path) -> None:
    runc = find_program("runc", rights)
    broken = program(tmp_path / "broken", 'echo "cgroups in hybrid mode not supported" >&2; exit 1')
    assert find_program(None, rights, (broken, runc)) == runc


def test_the_fault_is_told_in_the_runtimes_own_words(rights: Rights, tmp_path: Path) -> None:
    silent = program(tmp_path / "silent", "exit 3")
    logging = program(tmp_path / "logging", """echo '{"level":"error","msg":"no cgroups"}' > log; exit 1""")
    assert fault_of(silent, rights) == "exit status 3"
    assert fault_of(logging, rights) == "no cgroups"
    assert fault_of("/bin/true", rights) == "it runs nothing"
    with pytest.raises(BadAgentFlags, match=f"need an OCI runtime: {logging} does not work here: no cgroups$"):
        find_program(logging, rights)


def test_a_missing_one_is_told_with_the_remedy(rights: Rights) -> None:
    with pytest.raises(BadAgentFlags, match="--oci_runtime: there is no program 'nope'"):
        find_program("nope", rights)
    with pytest.raises(BadAgentFlags, match="need an OCI runtime: `apt-get install runc`, or name one by"):
        find_program(None, rights, ("nope",))

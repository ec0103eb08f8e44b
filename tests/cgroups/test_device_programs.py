"""Version 2: one program of ours among those of others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cgroups.conftest import OpenCgroups
from tests.cgroups.inside import Inside, Nodes
from tests.cgroups.test_device_control import REQUESTS, model, parse
from tfmesos.cgroups import ALLOW_ALL, Cgroup, CgroupError, Cgroups, _bpf
from tfmesos.cgroups._device_program import assemble

pytestmark = [pytest.mark.root, pytest.mark.cgroups]


@pytest.fixture
def cgroups(open_cgroups: OpenCgroups) -> Cgroups:
    return open_cgroups("v2")


@contextlib.contextmanager
def directory(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def names(path: str) -> list[str]:
    """Of the programs at a cgroup."""
    found = []
    with directory(path) as cgroup:
        for number in _bpf.query(cgroup):
            program = _bpf.open_program(number)
            found.append(_bpf.name_of(program))
            os.close(program)
    return sorted(found)


def attach_foreign(path: str, *texts: str, exclusive: bool = False) -> int:
    program = _bpf.load(assemble(parse(*texts) or ALLOW_ALL), "sd_devices")
    with directory(path) as cgroup:
        flags = 0 if exclusive else _bpf._ALLOW_MULTI
        _bpf._call(_bpf._PROG_ATTACH, _bpf._Attach(cgroup, program, _bpf._CGROUP_DEVICE, flags, 0))
    return program


def detach(path: str, program: int) -> None:
    with directory(path) as cgroup:
        _bpf.detach(cgroup, program)
    os.close(program)


def path_of(cgroup: Cgroup) -> str:
    (part,) = cgroup.parts
    return part.path


def test_there_is_one_program_however_often_rules_are_set(cgroups: Cgroups) -> None:
    cgroup = cgroups.create(("container",))
    for _ in range(3):
        cgroup.devices.set(parse("c 195:0 rw"))
    assert names(path_of(cgroup)) == ["tfmesos_devices"]


def test_programs_of_others_stay_and_are_obeyed(cgroups: Cgroups, nodes: Nodes) -> None:
    parent, other = cgroups.create(("container",)), cgroups.create(("other",))
    child = cgroups.create(("container", "child"))
    root = Path(path_of(parent)).parent
    places = [str(root), path_of(parent), path_of(child), path_of(other)]
    foreign = {place: attach_foreign(place, "c 195:* rwm", "c 1:* rwm") for place in places}
    with Inside(child) as inside:
        for texts in (["c 195:0 rw", "c 511:0 rw"], ["c 195:1 rw", "b *:* m"]):
            child.devices.set(parse(*texts))
            parent.devices.set([*parse(*texts), *ALLOW_ALL])
            assert nodes.allowed(inside, REQUESTS) == model(parse(texts[0]))
        assert names(str(root)) == names(path_of(other)) == ["sd_devices"]
        assert names(path_of(parent)) == names(path_of(child)) == ["sd_devices", "tfmesos_devices"]

        for place, program in foreign.items():
            detach(place, program)
        assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:1 rw", "b *:* m"))
    assert names(str(root)) == names(path_of(other)) == []


def test_a_program_replaced_by_others_elsewhere_changes_nothing_of_ours(cgroups: Cgroups, nodes: Nodes) -> None:
    """As systemd does when it reloads: it attaches its own anew, to the cgroups that it manages."""
    cgroup = cgroups.create(("container",))
    root = str(Path(path_of(cgroup)).parent)
    cgroup.devices.set(parse("c 195:0 rw"))
    with Inside(cgroup) as inside:
        for _ in range(2):
            detach(root, attach_foreign(root))
            assert nodes.allowed(inside, REQUESTS) == model(parse("c 195:0 rw"))


def test_a_cgroup_that_another_keeps_for_itself_is_named(cgroups: Cgroups) -> None:
    cgroup = cgroups.create(("container",))
    program = attach_foreign(path_of(cgroup), exclusive=True)
    with pytest.raises(CgroupError, match=r"/container: Operation not permitted; .* without BPF_F_ALLOW_MULTI"):
        cgroup.devices.set([])
    detach(path_of(cgroup), program)


def test_two_programs_of_ours_become_one(cgroups: Cgroups) -> None:
    """Two agents that start at once may both attach the first."""
    cgroup = cgroups.create(("container",))
    for texts in (["c 195:0 rw"], ["c 195:1 rw"]):
        program = _bpf.load(assemble(parse(*texts)), "tfmesos_devices")
        with directory(path_of(cgroup)) as descriptor:
            _bpf.attach(descriptor, program)
        os.close(program)
    assert len(names(path_of(cgroup))) == 2
    cgroup.devices.set(parse("c 195:0 rw"))
    assert names(path_of(cgroup)) == ["tfmesos_devices"]


def test_no_descriptor_is_left_open(cgroups: Cgroups) -> None:
    cgroup = cgroups.create(("container",))
    program = attach_foreign(path_of(cgroup))
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        cgroup.devices.set(parse("c 195:0 rw"))
    assert set(os.listdir("/proc/self/fd")) == before
    detach(path_of(cgroup), program)


def test_what_the_verifier_says_is_told() -> None:
    allow_and_more = assemble([])[-16:] * 2  # the second half is never reached
    with pytest.raises(CgroupError, match=r"Cannot load a program for device rules: .*unreachable insn"):
        _bpf.load(allow_and_more, "broken")

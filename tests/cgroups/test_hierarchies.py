"""Which trees a machine has, what is missing, and how that is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.cgroups.conftest import hierarchies_of, unified_path
from tfmesos.cgroups import CgroupError, Cgroups, Hierarchies, Hierarchy, _bpf
from tfmesos.cgroups._mounts import parse_mounts

Machine = Callable[..., Hierarchies]

V1 = "32 31 {1} / {0}/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
DEVICES = "36 31 {1} / {0}/devices rw,relatime - cgroup cgroup rw,devices\n"
UNIFIED = "41 31 {1} / {0}/unified rw,relatime - cgroup2 cgroup2 rw\n"
V2 = "32 23 {1} / {0} rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
BASE = "23 1 254:0 / / rw - ext4 /dev/vda rw\n31 23 0:28 / {0} rw - tmpfs tmpfs rw,mode=755\n"
KNOWN = {"cpu": 1, "cpuacct": 1, "devices": 1, "freezer": 1, "memory": 1, "pids": 1}


def numbers_of(path: Path) -> str:
    """Of the device that a path leads to, as mountinfo has them."""
    device = os.stat(path).st_dev
    return f"{os.major(device)}:{os.minor(device)}"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine by its mounts, its kernel's controllers, and those of version 2."""

    def build(mounts: str, known: Mapping[str, int] = KNOWN, enabled: str = "") -> Hierarchies:
        proc, base = tmp_path / "proc", tmp_path / "sys"
        (proc / "self").mkdir(parents=True)
        (proc / "self" / "mountinfo").write_text(mounts.format(base, numbers_of(tmp_path)))
        rows = "".join(f"{name}\t0\t1\t{switch}\n" for name, switch in known.items())
        (proc / "cgroups").write_text(f"#subsys_name\thierarchy\tnum_cgroups\tenabled\n{rows}")
        for path in (base, base / "unified", base / "devices", base / "cpu,cpuacct"):
            path.mkdir()
            (path / "cgroup.controllers").write_text(f"{enabled}\n")
        return Hierarchies.detect(str(proc), str(base))

    return build


def test_version_1(machine: Machine, tmp_path: Path) -> None:
    found = machine(BASE + V1 + DEVICES)
    assert found.version == 1
    assert found.path_of("devices") == f"{tmp_path}/sys/devices"
    assert found.path_of("cpu") == found.path_of("cpuacct") == f"{tmp_path}/sys/cpu,cpuacct"
    assert found.faults("cpu") is None


def test_hybrid(machine: Machine, tmp_path: Path) -> None:
    found = machine(BASE + UNIFIED + DEVICES, enabled="memory hugetlb")
    assert found.version == 1
    assert found.path_of("devices") == f"{tmp_path}/sys/devices"
    assert found.path_of("memory") == f"{tmp_path}/sys/unified"
    assert found.path_of("pids") is None


def test_version_2(machine: Machine, tmp_path: Path) -> None:
    found = machine(BASE.splitlines(keepends=True)[0] + V2, enabled="cpu memory pids")
    assert found.version == 2
    assert {found.path_of(name) for name in ("devices", "cpu", "memory", "cpuacct", "freezer")} == {f"{tmp_path}/sys"}


def test_all_trees_are_told_once_with_those_that_have_but_a_name(machine: Machine, tmp_path: Path) -> None:
    named = "40 31 {1} / {0}/devices rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
    again = "50 23 {1} / {0}/unified rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    found = machine(again + BASE + V1 + named + UNIFIED.replace("rw,relatime", "ro,relatime"))
    assert [(tree.path, set(tree.controllers)) for tree in sorted(found.trees, key=lambda tree: tree.path)] == [
        (f"{tmp_path}/sys/cpu,cpuacct", {"cpu", "cpuacct"}),
        (f"{tmp_path}/sys/devices", {"name=systemd"}),
    ]


def test_what_lies_below_another_mount_cannot_be_reached(machine: Machine, tmp_path: Path) -> None:
    """Version 2 mounted over the whole of version 1."""
    below = (V1 + DEVICES + UNIFIED).replace("{1}", "0:29")
    found = machine(BASE + below + V2, enabled="cpu")
    assert found.version == 2
    assert found.path_of("cpu") == f"{tmp_path}/sys"


def test_of_mounts_on_top_of_each_other_the_last_one_counts(machine: Machine) -> None:
    fault = machine(BASE + DEVICES + DEVICES.replace("rw,relatime", "ro")).faults("devices")
    assert fault is not None
    assert "is mounted read-only" in fault


def test_paths_of_mounts_are_unescaped(tmp_path: Path) -> None:
    (tmp_path / "b c").mkdir()
    line = f"4 3 {numbers_of(tmp_path)} / {tmp_path}/b\\040c rw,nosuid shared:1 master:2 - cgroup b ro,devices\n"
    (mount,) = parse_mounts(f"not a mount\n{line}")
    assert mount.point == f"{tmp_path}/b c"
    assert mount.is_read_only
    assert mount.is_reachable()
    (tmp_path / "b c").rmdir()
    assert not mount.is_reachable()


def test_what_is_mounted_twice_is_used_at_its_usual_place(machine: Machine, tmp_path: Path) -> None:
    elsewhere = "60 23 {1} / {0}/cpu,cpuacct rw - cgroup cgroup rw,devices\n"
    assert machine(BASE + elsewhere + DEVICES).path_of("devices") == f"{tmp_path}/sys/devices"


def test_nothing_is_mounted(machine: Machine) -> None:
    found = machine(BASE)
    assert found.version is None
    assert found.faults("devices") == (
        "no hierarchy with the cgroup controller 'devices' is mounted: "
        "`mkdir -p /sys/fs/cgroup/devices && mount -t cgroup -o devices cgroup /sys/fs/cgroup/devices`"
    )


def test_a_kernel_without_the_controller(machine: Machine) -> None:
    fault = machine(BASE + V1, {"cpu": 1}).faults("devices")
    assert fault == "the kernel has no cgroup controller 'devices': it needs one built with CONFIG_CGROUP_DEVICE"


def test_a_controller_that_was_switched_off(machine: Machine) -> None:
    fault = machine(BASE + V1, {**KNOWN, "memory": 0}).faults("memory")
    assert fault == (
        "the kernel's cgroup controller 'memory' is switched off: "
        "boot without `cgroup_disable=memory` and with `cgroup_enable=memory`"
    )


def test_version_2_without_the_controller(machine: Machine, tmp_path: Path) -> None:
    fault = machine(BASE.splitlines(keepends=True)[0] + V2, enabled="cpu").faults("pids")
    assert fault == (
        f"{tmp_path}/sys/cgroup.controllers lacks 'pids': it needs a kernel built with CONFIG_CGROUP_PIDS, booted "
        "without `cgroup_disable=pids`, and whoever manages this part of the tree must pass the controller on "
        "(systemd: `Delegate=yes`)"
    )


def test_a_tree_that_is_read_only(machine: Machine, tmp_path: Path) -> None:
    """As in a container of docker's."""
    fault = machine(BASE + DEVICES.replace("rw,relatime", "ro,relatime")).faults("devices")
    assert fault == (
        f"{tmp_path}/sys/devices is mounted read-only: `mount -o remount,rw {tmp_path}/sys/devices`; in a container "
        "this takes one that was started with all privileges (docker: `--privileged`)"
    )


@pytest.mark.root
def test_a_user_who_may_not() -> None:
    code = (
        "import os; from tfmesos.cgroups import Hierarchies, _bpf; os.setuid(65534)\n"
        f"print(Hierarchies.detect().faults('devices'), _bpf.fault({unified_path()!r}), sep='\\n')"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    assert told[0].endswith(" cannot be written by user 65534: run as root")
    assert told[1].startswith("bpf(2) refuses programs for devices at ")
    assert ": run as root with CAP_SYS_ADMIN" in told[1]


@pytest.mark.root
@pytest.mark.cgroups
def test_a_kernel_that_cannot_replace_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older than 5.6: it refuses what it does not know as invalid, as each kernel does an unknown bit."""
    hierarchies_of("v2")
    monkeypatch.setattr(_bpf, "_REPLACE", 1 << 30)
    fault = _bpf.fault(str(unified_path()))
    assert fault is not None
    assert fault.endswith(": it needs a kernel built with CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF, 5.6 or newer")


def test_a_program_for_devices_where_there_is_no_version_2(tmp_path: Path) -> None:
    found = Hierarchies([Hierarchy(path=str(tmp_path), version=2, controllers=frozenset({"devices"}))])
    fault = found.faults("devices")
    assert fault is not None
    assert fault.startswith(f"bpf(2) refuses programs for devices at {tmp_path} (")


def test_opening_says_what_is_missing(machine: Machine) -> None:
    with pytest.raises(CgroupError, match=r"controller 'pids' cannot be used: no hierarchy with .* is mounted: `mkdir"):
        Cgroups.open(machine(BASE + DEVICES), "test-none", ("pids",))


@pytest.mark.root
@pytest.mark.cgroups
def test_a_view_of_version_2_alone() -> None:
    """Mounted over the rest in a mount namespace of its own, as tests of this project do."""
    if unified_path() is None:
        pytest.skip("cgroup version 2 is not mounted")
    code = (
        "from tfmesos.cgroups import Hierarchies; found = Hierarchies.detect()\n"
        "print(found.version, found.path_of('devices'), found.faults('devices'))"
    )
    mount = "test -e /sys/fs/cgroup/cgroup.subtree_control || mount -t cgroup2 none /sys/fs/cgroup"
    script = f'mount --make-rprivate / && {{ {mount}; }} && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", code]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert told == "2 /sys/fs/cgroup None"


@pytest.mark.root
@pytest.mark.cgroups
def test_controllers_of_version_2_are_passed_on() -> None:
    """By one that version 1 does not hold here, if there is any."""
    unified = unified_path()
    hierarchies_of("v2")
    free = Path(f"{unified}/cgroup.controllers").read_text().split()
    if not free:
        pytest.skip("version 1 holds every controller")
    before = Path(f"{unified}/cgroup.subtree_control").read_text().split()
    found = Hierarchies([Hierarchy(path=str(unified), version=2, controllers=frozenset(free))])
    cgroups = Cgroups.open(found, f"test-passed-on-{os.getpid()}", (free[0],))
    try:
        parent, child = cgroups.create(("parent",)), cgroups.create(("parent", "child"))
        (part,) = child.parts
        assert Path(part.path, "cgroup.controllers").read_text().split() == [free[0]]
        assert parent.remove_empty()
    finally:
        cgroups.close()
        if free[0] not in before:
            Path(f"{unified}/cgroup.subtree_control").write_text(f"-{free[0]}")

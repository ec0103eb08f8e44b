"""What an OCI runtime makes of a container, as programs in it and its agent see it."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.oci.conftest import IMAGE_MOUNTS, Cards, Containers
from tests.agent.oci.seen import cgroups_of, mounts, namespace_of, text
from tests.cgroup_trees import cgroups_below
from tests.gpu_machine import CARD_MAJOR
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.images import Root
from tfmesos.agent.isolators import Mount, Node, View
from tfmesos.cgroups import Device, DeviceRule
from tfmesos.supervision import ProcessSpec, Supervisors

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

IMAGE = View(mounts=IMAGE_MOUNTS)
WRITE = "echo of the image; rm /bin/ls; echo x > /new"


@pytest.mark.parametrize(("program", "status"), [("exit 0", 0), ("exit 7", 7 << 8), ("kill -9 $$", signal.SIGKILL)])
async def test_the_end_of_a_container_is_its_programs(containers: Containers, program: str, status: int) -> None:
    assert (await containers.run("sh", "-c", program, view=View())).wait_status == status


async def test_a_container_with_an_image_sees_that_and_writes_beside_it(
    containers: Containers, root: Root, busybox_tree: Path
) -> None:
    termination = await containers.run(
        "sh", "-c", "echo of the image; rm /bin/ls; echo x > /new", root=root, view=IMAGE
    )
    assert (termination.wait_status, containers.output()) == (0, "of the image\n")
    assert root.upper is not None
    assert (busybox_tree / "bin/ls").exists()
    assert not (busybox_tree / "new").exists()
    assert text(root.upper, "new") == "x\n"


async def test_a_copy_of_an_image_is_a_root_as_it_is(containers: Containers, root: Root, busybox_tree: Path) -> None:
    shutil.copytree(busybox_tree, root.rootfs, symlinks=True, dirs_exist_ok=True)
    copy = replace(root, lower=None, upper=None, work=None)
    assert (await containers.run("sh", "-c", "echo x > /new", root=copy, view=IMAGE)).wait_status == 0
    assert text(root.rootfs, "new") == "x\n"


async def test_no_mount_of_a_container_is_the_hosts(containers: Containers, root: Root) -> None:
    before = mounts()
    process = await containers.start("sleep", "1000", root=root, view=IMAGE)
    assert namespace_of(process.task_pid, "mnt") != namespace_of("self", "mnt")
    assert mounts() == before
    assert os.listdir(root.rootfs) == []


async def test_a_container_without_an_image_sees_the_host_and_what_is_mounted(
    containers: Containers, tmp_path: Path
) -> None:
    for name in ("source", "target"):
        (tmp_path / name).mkdir()
    (tmp_path / "source/file").write_text("from the source")
    mount = Mount(source=str(tmp_path / "source"), target=str(tmp_path / "target"), options=("rbind", "ro"))
    script = f"cat {tmp_path}/target/file; touch {tmp_path}/target/new || test -c /dev/null"
    assert (await containers.run("sh", "-c", script, view=View(mounts=(mount,)))).wait_status == 0
    assert containers.output() == "from the source"
    assert "Read-only file system" in containers.errors()
    assert os.listdir(tmp_path / "target") == []


@pytest.mark.parametrize("has_image", [True, False])
async def test_a_container_has_its_cgroup_in_every_tree(
    containers: Containers, root: Root, cgroups_root: str, *, has_image: bool
) -> None:
    given: dict[str, Any] = {"root": root, "view": IMAGE} if has_image else {"view": View()}
    process = await containers.start("sleep", "1000", **given)
    assert cgroups_of(process.task_pid) == {f"/{cgroups_root}/c/oci"}
    await containers.end()
    assert [path for path in cgroups_below(cgroups_root) if path.name == "c"] == []


SELF = """
grep -E '^(Uid|Gid|Groups|Umask|Cap.*|NoNewPrivs|Seccomp|SigBlk):' /proc/self/status
sed -n 's/^SigIgn.*\\(.......\\)$/ignored \\1/p' /proc/self/status; cat /proc/self/oom_score_adj
for namespace in pid ipc net uts user cgroup time; do readlink /proc/self/ns/$namespace; done
ulimit -Sa; ulimit -Ha; hostname; pwd; tty; id; echo $0 "$@"; env | sort | grep -v ^HOME=
"""


@pytest.mark.parametrize(
    "identity", [{}, {"uid": 65534, "gid": 65534, "groups": (65534, 1)}, {"uid": 12345, "gid": 54321, "groups": ()}]
)
async def test_a_program_is_otherwise_as_on_the_host(
    containers: Containers, supervisors: Supervisors, sandbox: Path, identity: dict[str, Any]
) -> None:
    # given a program that tells of itself
    argv = ("sh", "-c", SELF, "it", "with blanks", "", "ünï", "'\"$(x)\n\\")
    environment = {"PATH": "/bin:/usr/bin", "EMPTY": "", "MANY": "a=b\nc", "Ü": '"ü"', "BASH_FUNC_x%%": "() {  :\n}"}
    spec = ProcessSpec(
        id="host",
        argv=argv,
        environment=environment,
        directory="/tmp",
        stdout=str(sandbox / "host.out"),
        stderr=str(sandbox / "host.err"),
        **identity,
    )
    # when it runs on the host and in a container
    process = await supervisors.launch(spec)
    await process.release()
    await process.wait()
    await containers.run(*argv, view=View(), environment=environment, directory="/tmp", **identity)
    # then it tells the same
    assert (sandbox / "host.err").read_text() == containers.errors() == ""
    assert (sandbox / "host.out").read_text() == containers.output()


async def test_descriptors_of_others_are_not_handed_on(containers: Containers) -> None:
    await containers.run("ls", "/proc/self/fd", view=View())
    assert containers.output() == "0\n1\n2\n3\n"  # the last one is the directory


async def test_rules_of_devices_hold_when_they_change(containers: Containers, cards: Cards, root: Root) -> None:
    # given a container with the node of a card that it may not open
    node = Node(path="/dev/nvidia7", type="c", major=CARD_MAJOR, minor=7)
    await containers.start("sleep", "1000", root=root, view=View(mounts=IMAGE_MOUNTS, nodes=(node,)))
    told = []
    for number, may in enumerate((False, True, False, True)):
        # when it may, or may not, from now on
        cards.rules = (DeviceRule(Device("c", CARD_MAJOR, 7), "rw"),) if may else ()
        await containers.isolation.update(ContainerId("c"), {})
        # then its programs can, or cannot
        name = f"d{number}"
        await containers.run(
            "sh", "-c", ": < /dev/nvidia7; : > /dev/null", name=name, parent=ContainerId("c"), is_debug=True
        )
        told.append(containers.errors(name).strip().rpartition(": ")[2])
    assert told == ["Operation not permitted", "No such device or address"] * 2

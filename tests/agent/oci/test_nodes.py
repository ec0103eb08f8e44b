"""Device nodes that come and go in a container that runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.agent.oci.conftest import IMAGE_MOUNTS, Containers
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.images import Root
from tfmesos.agent.isolators import IsolationFailed, Mount, Node, View

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

CARD = Node(path="/dev/nvidia7", type="c", major=195, minor=7, mode=0o640, uid=12, gid=34)
CAP = Node(path="/dev/nvidia-caps/nvidia-cap1", type="c", major=234, minor=1, mode=0o444)
IMAGE = View(mounts=IMAGE_MOUNTS)
C = ContainerId("c")


async def started(containers: Containers, root: Root | None, *nodes: Node, view: View = IMAGE) -> Path:
    """The root of a container that runs, as this test sees it."""
    process = await containers.start("sleep", "1000", root=root, view=view)
    return Path(f"/proc/{process.task_pid}/root")


def described(path: Path) -> tuple[str, int, int, int, int]:
    found = path.lstat()
    return (
        stat.filemode(found.st_mode),
        os.major(found.st_rdev),
        os.minor(found.st_rdev),
        found.st_uid,
        found.st_gid,
    )


async def test_nodes_of_a_view_are_there_from_the_start(containers: Containers, root: Root) -> None:
    inside = await started(containers, root, view=View(mounts=IMAGE_MOUNTS, nodes=(CARD, CAP)))
    assert described(inside / "dev/nvidia7") == ("crw-r-----", 195, 7, 12, 34)
    assert described(inside / "dev/nvidia-caps/nvidia-cap1") == ("cr--r--r--", 234, 1, 0, 0)
    assert described(inside / "dev/null") == ("crw-rw-rw-", 1, 3, 0, 0)


async def test_nodes_come_and_go_as_often_as_is_wanted(containers: Containers, root: Root) -> None:
    inside = await started(containers, root)
    for _ in range(2):
        await containers.runtime.set_nodes(C, (CARD, CAP), ())
        assert described(inside / "dev/nvidia7") == ("crw-r-----", 195, 7, 12, 34)
        assert described(inside / "dev/nvidia-caps/nvidia-cap1") == ("cr--r--r--", 234, 1, 0, 0)
    for _ in range(2):
        await containers.runtime.set_nodes(C, (CAP,), (CARD,))
        assert not (inside / "dev/nvidia7").exists()
    assert described(inside / "dev/nvidia-caps/nvidia-cap1") == ("cr--r--r--", 234, 1, 0, 0)


async def test_what_is_in_the_way_of_a_node_is_replaced(containers: Containers, root: Root) -> None:
    inside = await started(containers, root)
    (inside / "dev/nvidia7").write_text("a file")
    await containers.runtime.set_nodes(C, (CARD,), ())
    assert described(inside / "dev/nvidia7")[:3] == ("crw-r-----", 195, 7)


async def test_links_in_a_container_lead_to_no_node_elsewhere(
    containers: Containers, root: Root, tmp_path: Path
) -> None:
    # given a container that has a directory of the host, and a link to it where nodes are wanted
    (tmp_path / "volume").mkdir()
    volume = Mount(source=str(tmp_path / "volume"), target="/volume")
    inside = await started(containers, root, view=View(mounts=(*IMAGE_MOUNTS, volume)))
    (inside / "dev/nvidia-caps").symlink_to("/volume")
    # when nodes are to be made there, or to go
    with pytest.raises(IsolationFailed, match="cannot change the device nodes of container c"):
        await containers.runtime.set_nodes(C, (CAP,), ())
    (tmp_path / "volume/nvidia-cap1").touch()
    await containers.runtime.set_nodes(C, (), (CAP,))
    # then nothing of the host has changed
    assert os.listdir(tmp_path / "volume") == ["nvidia-cap1"]


async def test_a_container_without_an_image_sees_the_hosts_nodes(containers: Containers) -> None:
    await started(containers, None, view=View())
    await containers.runtime.set_nodes(C, (CARD,), ())
    assert "nvidia7" not in os.listdir("/dev")


async def test_an_ended_container_gets_no_nodes(containers: Containers, root: Root, flags: AgentFlags) -> None:
    # given a container whose pid another process has by now
    await (await containers.start("true", root=root, view=IMAGE)).wait()
    (flags.runtime_path / "oci/bundles/c/pid").write_text(str(os.getpid()))
    # when nodes are wanted
    await containers.runtime.set_nodes(C, (CARD,), ())
    # then that process has none
    assert "nvidia7" not in os.listdir("/dev")

"""Root file systems of containers."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.images.store_of import image_of, images_of, mounted
from tests.images import Directory, Entry, File, Image, layers_of, saved_archive
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images import ImageRoot, Provisioner, Root
from tfmesos.supervision import Supervisors

pytestmark = [pytest.mark.root]

_PARENT = ContainerId("parent")
_CHILD = ContainerId("child", _PARENT)


@pytest.fixture
async def supervisors() -> AsyncIterator[Supervisors]:
    running = Supervisors()
    await running.start()
    yield running
    await running.close()


@pytest.fixture
async def image(tmp_path: Path) -> AsyncIterator[ImageRoot]:
    """An image that is held."""
    content: dict[str, Entry] = {
        "etc/x": File(content=b"of the image", uid=7, gid=8),
        "gone": File(),
        "var": Directory(mode=0o1777),
    }
    saved_archive(tmp_path / "archives/img.tar", Image(layers=layers_of(content)), "img:latest")
    async with images_of(tmp_path, docker_registry=str(tmp_path / "archives")) as images:
        yield await images.provide(image_of("img"), holder="c")


def _open(folder: Path, supervisors: Supervisors, backend: str | None = None) -> Provisioner:
    flags = AgentFlags(
        master="m",
        work_dir=str(folder / "agent"),
        docker_store_dir=str(folder / "store"),
        image_provisioner_backend=backend,
    )
    return Provisioner.open(flags, supervisors)


def _in_overlay(root: Root, script: str) -> str:
    """What a script prints in a root that is mounted in a namespace of its own."""
    mount = 'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4" && cd "$4" && ' + script
    argv = ["unshare", "-m", "sh", "-e", "-c", mount, "sh", root.lower, root.upper, root.work, root.rootfs]
    return subprocess.run([str(word) for word in argv], check=True, capture_output=True, text=True).stdout


async def test_an_overlay_is_described_and_leaves_the_image_as_it_is(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot
) -> None:
    provisioner = _open(tmp_path, supervisors)
    assert provisioner.backend == "overlay"
    root = await provisioner.make(_PARENT, image)
    assert root.image == image
    assert root.lower == image.tree
    assert (
        _in_overlay(root, "cat etc/x; rm gone; echo changed > etc/x; ls; stat -c %a .") == "of the imageetc\nvar\n755\n"
    )
    assert _in_overlay(root, "cat etc/x; ls") == "changed\netc\nvar\n"
    assert _content(image.tree) == {"etc/x": b"of the image", "gone": b""}
    await provisioner.remove(_PARENT)
    assert not _roots(tmp_path)
    assert _content(image.tree) == {"etc/x": b"of the image", "gone": b""}


async def test_the_root_directory_has_the_mode_of_the_images(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot
) -> None:
    os.chmod(image.tree, 0o555)
    root = await _open(tmp_path, supervisors).make(_PARENT, image)
    assert _in_overlay(root, "stat -c %a .") == "555\n"


async def test_a_copy_is_complete_and_its_own(tmp_path: Path, supervisors: Supervisors, image: ImageRoot) -> None:
    provisioner = _open(tmp_path, supervisors, "copy")
    root = await provisioner.make(_PARENT, image)
    assert (root.lower, root.upper, root.work) == (None, None, None)
    assert _content(root.rootfs) == {"etc/x": b"of the image", "gone": b""}
    status = os.stat(f"{root.rootfs}/etc/x")
    assert (status.st_uid, status.st_gid) == (7, 8)
    assert stat.S_IMODE(os.stat(f"{root.rootfs}/var").st_mode) == 0o1777
    os.unlink(f"{root.rootfs}/gone")
    assert _content(image.tree) == {"etc/x": b"of the image", "gone": b""}
    await provisioner.remove(_PARENT)
    assert not _roots(tmp_path)


async def test_nested_roots_and_volumes_go_with_the_outer_one(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot
) -> None:
    provisioner = _open(tmp_path, supervisors)
    roots = [
        await provisioner.make(_PARENT, image),
        await provisioner.make(_CHILD, image),
        await provisioner.make(_CHILD, image, volume=0),
    ]
    assert len({root.rootfs for root in roots}) == 3
    await provisioner.remove(_CHILD)
    assert _are_there(*roots) == [True, False, False]
    await provisioner.remove(_PARENT)
    await provisioner.remove(_PARENT)
    assert not _roots(tmp_path)


async def test_nothing_stays_of_a_container_without_a_root_when_those_nested_in_it_are_gone(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot
) -> None:
    provisioner = _open(tmp_path, supervisors)
    sibling = ContainerId("sibling", _PARENT)
    await provisioner.make(_CHILD, image)
    other = await provisioner.make(sibling, image)
    await provisioner.remove(_CHILD)
    assert _are_there(other) == [True]
    await provisioner.remove(sibling)
    assert not _roots(tmp_path)


async def test_the_next_agent_removes_what_belongs_to_nobody(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot
) -> None:
    before = _open(tmp_path, supervisors)
    other = ContainerId("other")
    kept, nested, alone = [await before.make(found, image) for found in (_PARENT, _CHILD, other)]
    volume = await before.make(_PARENT, image, volume=1)
    after = _open(tmp_path, supervisors)
    await after.recover({_PARENT})
    assert _are_there(kept, volume, nested, alone) == [True, True, False, False]


async def test_what_containers_mounted_is_never_followed(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot
) -> None:
    # Given a root with a link to the host, as a task may have made it
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    provisioner = _open(tmp_path, supervisors)
    root = await provisioner.make(_PARENT, image)
    os.symlink(victim, f"{root.upper}/link")
    await provisioner.remove(_PARENT)
    assert (victim / "file").exists()


async def test_what_cannot_be_removed_is_counted(
    tmp_path: Path, supervisors: Supervisors, image: ImageRoot, caplog: pytest.LogCaptureFixture
) -> None:
    # Given a file system that somebody has mounted in a root
    provisioner = _open(tmp_path, supervisors)
    root = await provisioner.make(_PARENT, image)
    disk = Path(f"{root.upper}/disk")
    os.mkdir(disk)
    with mounted(disk, "1m"):
        os.mkdir(disk / "victim")
        await provisioner.remove(_PARENT)
        # Then nothing of it is touched
        assert os.listdir(disk) == ["victim"]
    assert provisioner.numbers() == {"containerizer/mesos/provisioner/remove_container_errors": 1}
    assert "another file system is mounted there" in caplog.text
    await provisioner.remove(_PARENT)
    assert not _roots(tmp_path)


@pytest.mark.parametrize("backend", ["aufs", "bind", "nonsense"])
def test_other_backends_are_refused_with_mesos_text(tmp_path: Path, backend: str) -> None:
    (tmp_path / "store").mkdir()
    with pytest.raises(
        BadAgentFlags, match=f"The specified provisioner backend '{backend}' is not supported: it can be"
    ):
        _open(tmp_path, Supervisors(), backend)


def test_where_an_overlay_cannot_be_mounted_roots_are_copies(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # Given a work directory whose name mount(8) cannot take
    (tmp_path / "store").mkdir()
    folder = tmp_path / "a,b"
    folder.mkdir()
    flags = AgentFlags(master="m", work_dir=str(folder), docker_store_dir=str(tmp_path / "store"))
    assert Provisioner.open(flags, Supervisors()).backend == "copy"
    assert "each container takes a copy of its image: mount: " in caplog.text
    explicit = AgentFlags(
        master="m",
        work_dir=str(folder),
        docker_store_dir=str(tmp_path / "store"),
        image_provisioner_backend="overlay",
    )
    with pytest.raises(BadAgentFlags, match="The specified provisioner backend 'overlay' is not supported: mount: "):
        Provisioner.open(explicit, Supervisors())
    assert not list(tmp_path.rglob("probe-*")), "nothing of the probe is left"


def _content(tree: str) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in Path(tree).rglob("*") if path.is_file()}


def _are_there(*roots: Root) -> list[bool]:
    return [os.path.isdir(root.rootfs) for root in roots]


def _roots(folder: Path) -> list[str]:
    try:
        return os.listdir(folder / "agent/provisioner/containers")
    except FileNotFoundError:
        return []
